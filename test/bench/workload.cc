// SPDX-License-Identifier: Apache-2.0
// What a compiler has much to do with: templates of the standard library, and
// a recursion of our own. Compiled by the benchmark, never run.
#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <tuple>
#include <vector>

template <int N> struct Chain : Chain<N - 1> {
	std::array<char, N> data;
	std::map<std::string, std::vector<std::array<char, N>>> index;
};
template <> struct Chain<0> {
};

template <typename... T>
auto
joined(T... values)
{
	return std::tuple_cat(std::make_tuple(values, values)...);
}

std::size_t
use(const std::string &text)
{
	static Chain<40> chain;
	std::regex words("([a-z]+)=([0-9]+)");
	std::map<std::string, std::function<int(int)>> actions;
	auto all = joined(1, 2L, 3.0, 'c', text, &chain);

	for (std::sregex_iterator it(text.begin(), text.end(), words), end;
	     it != end; ++it)
		actions[it->str(1)] = [=](int x) { return x + 1; };
	return actions.size() + std::tuple_size<decltype(all)>::value;
}
