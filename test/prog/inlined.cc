/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inlined.cc - templates, namespaces and chains of inlined calls: not run,
 * but symbolized (test/e2e/symbolize.bats compiles it in many ways).
 */
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace shop
{
static inline __attribute__((always_inline)) void *
deep(std::size_t n)
{
	void *p = std::malloc(n);
	return p;
}

template <typename T> struct box {
	inline __attribute__((always_inline)) void *
	get(T n)
	{
		return deep(n + 1);
	}
};

__attribute__((noinline)) void *
sell(std::size_t n)
{
	box<unsigned long> b;
	void *p = b.get(n);
	asm volatile("" ::: "memory");
	return p;
}
} // namespace shop

namespace
{
struct local {
	__attribute__((noinline)) std::string
	operator()(int n) const
	{
		return std::string(static_cast<std::size_t>(n), 'x');
	}
};
} // namespace

int
main(int argc, char **)
{
	std::vector<std::string> v;
	auto add = [&v](int n) { v.push_back(local()(n)); };
	for (int i = 0; i < argc * 10; i++)
		add(i * 10);
	std::printf("%p %zu\n", shop::sell(static_cast<std::size_t>(argc)),
		    v.size());
	return 0;
}
