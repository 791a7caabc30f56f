/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.cc - what C++ compilers make of templates, lambdas, virtual functions,
 * exceptions, local classes and chains of inlined calls: not run, but
 * symbolized (test/e2e/names.bats compiles it in many ways, as two units that
 * call each other: -DFIRST_UNIT and -DSECOND_UNIT).
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace depot
{
struct shelf {
	virtual ~shelf() = default;
	virtual void *store(std::size_t n) = 0;
};

std::unique_ptr<shelf> make_shelf(int kind);
int count_of(const std::vector<int> &v, int limit);

/* In both units, and inlined in both. */
template <typename T, int Depth> struct chain {
	static inline __attribute__((always_inline)) T
	step(T n)
	{
		if (n & 1)
			return chain<T, Depth - 1>::step(n + Depth) * 3;
		return chain<T, Depth - 1>::step(n) + 1;
	}
};
template <typename T> struct chain<T, 0> {
	static inline __attribute__((always_inline)) T
	step(T n)
	{
		return static_cast<T>(std::labs(static_cast<long>(n)) % 1009);
	}
};
} // namespace depot

#ifndef FIRST_UNIT

namespace depot
{
namespace
{
struct wide final : shelf {
	void *
	store(std::size_t n) override
	{
		return std::malloc(2 * chain<std::size_t, 3>::step(n) + 1);
	}
};

struct narrow final : shelf {
	std::map<std::string, void *> held;

	~narrow() override
	{
		for (auto &pair : held)
			std::free(pair.second);
	}

	void *
	store(std::size_t n) override
	{
		auto &slot = held[std::to_string(n)];
		if (!slot)
			slot = std::malloc(n);
		if (!slot)
			throw std::runtime_error("no room for " +
						 std::to_string(n));
		return slot;
	}
};
} // namespace

std::unique_ptr<shelf>
make_shelf(int kind)
{
	if (kind)
		return std::make_unique<wide>();
	return std::make_unique<narrow>();
}

int
count_of(const std::vector<int> &v, int limit)
{
	return static_cast<int>(
		std::count_if(v.begin(), v.end(), [limit](int x) {
			return chain<int, 2>::step(x) < limit;
		}));
}
} // namespace depot

#endif
#ifndef SECOND_UNIT

namespace
{
/* Without a size, it could reach over what follows. */
__attribute__((noinline, section(".text.odd"), aligned(1))) int
odd(int x)
{
	return depot::chain<int, 4>::step(x);
}

__attribute__((cold, noinline)) void
complain(const char *why)
{
	std::fprintf(stderr, "names: %s\n", why);
	std::exit(1);
}

struct by_distance {
	int from;

	bool
	operator()(int a, int b) const
	{
		return std::abs(a - from) < std::abs(b - from);
	}
};

template <typename... Ts>
long
total(Ts... values)
{
	return (0L + ... + static_cast<long>(values));
}
} // namespace

extern "C" __attribute__((noinline)) long
plain_name(int argc)
{
	struct local {
		long
		grow(int n)
		{
			auto twice = [n](long x) { return x * 2 + n; };
			return n ? twice(grow(n - 1)) : 1;
		}
	};
	return local().grow(argc) + total(argc, 2.5, 'c', 4UL);
}

int
main(int argc, char **argv)
{
	std::vector<int> v;
	std::function<void(int)> add = [&v](int n) {
		v.push_back(odd(n));
		if (v.size() > 1000000)
			complain("too much");
	};
	for (int i = 0; i < argc * 10; i++)
		add(i * 10);
	std::sort(v.begin(), v.end(), by_distance{ argc });
	try {
		auto shelf = depot::make_shelf(argc % 2);
		std::printf("%p\n",
			    shelf->store(static_cast<std::size_t>(argc)));
	} catch (const std::exception &error) {
		complain(error.what());
	}
	std::printf("%s %ld %d\n", argv[0], plain_name(argc),
		    depot::count_of(v, argc));
	return 0;
}

#endif
