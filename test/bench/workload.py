# SPDX-License-Identifier: Apache-2.0
# Work that allocates: text, objects, containers and their sorting. Run with
# PYTHONMALLOC=malloc, so that each object is a block of malloc's.


class Record:
    def __init__(self, number):
        self.number = number
        self.name = "record %d" % number
        self.tags = [self.name, str(number * 7919 % 10007)]


def work():
    records = [Record(n) for n in range(25000)]
    by_tag = {}
    for record in records:
        by_tag.setdefault(record.tags[1], []).append(record)
    lines = ["%s=%s" % (r.name, ",".join(r.tags)) for r in records]
    parsed = dict(line.split("=") for line in lines)
    return len(sorted(parsed.values())) + len(by_tag)


print(sum(work() for _ in range(12)))
