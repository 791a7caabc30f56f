// SPDX-License-Identifier: Apache-2.0
// Echo.java - `java Echo.java PORT`: an HTTP server in whose threads each
// request makes some garbage and a block of malloc's; GET /echo/N answers N.
import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.concurrent.Executors;

public class Echo {
	static volatile Object kept;

	public static void main(String[] arguments) throws Exception {
		InetSocketAddress address = new InetSocketAddress(
			InetAddress.getLoopbackAddress(),
			Integer.parseInt(arguments[0]));
		HttpServer server = HttpServer.create(address, 128);

		server.createContext("/echo/", exchange -> {
			String path = exchange.getRequestURI().getPath();
			byte[] body = (path.substring(6) + "\n").getBytes();

			kept = new byte[20000];
			ByteBuffer.allocateDirect(1000).put(body);
			exchange.sendResponseHeaders(200, body.length);
			exchange.getResponseBody().write(body);
			exchange.close();
		});
		server.setExecutor(Executors.newFixedThreadPool(16));
		server.start();
	}
}
