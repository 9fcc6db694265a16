"""Why modelled times choose kernels as they do: reads what scripts/device/predicted wrote.

  python3 bench/predicted_limits.py PREDICTED.json…      docs/results/model/predicted-h200*.json

Prints how many shapes hold (the fastest of the five modelled fastest within 6 % of the best, the modelled fastest within 12 %) by
the modelled times, by lot, and by measured times with independent errors of a given size; how far the five are apart; and where
misses are. Errors are log2(measured / modelled) of kernels within half as much again of their shape's best, about the shape's mean.
"""
import collections
import json
import math
import random
import statistics
import sys

FIVE, CHAMPION, NEAR, DRAWS = 1.06, 1.12, 1.5, 100


def shapes_of(paths):
    return [shape for path in paths for shape in json.load(open(path))["shapes"]]


def holds(kernels, order):
    """Of the five first in an order, and of the first."""
    times = [kernels[place]["measured_us"] for place in order[:5]]
    best = min(kernel["measured_us"] for kernel in kernels)
    return min(times) <= FIVE * best, times[0] <= CHAMPION * best


def counted(shapes, key, draws=1):
    """Shapes that hold by a key of a kernel: five, champion, both; means over draws."""
    sums = [0, 0, 0]
    for _ in range(draws):
        for shape in shapes:
            kernels = shape["kernels"]
            keys = [key(kernel) for kernel in kernels]
            five, champion = holds(kernels, sorted(range(len(kernels)), key=keys.__getitem__))
            sums = [sums[0] + five, sums[1] + champion, sums[2] + (five and champion)]
    return ", ".join(f"{value / draws:.1f}" for value in sums)


def errors_of(shape):
    """Errors of the kernels by modelled time, and the places of those near the best."""
    kernels = sorted(shape["kernels"], key=lambda kernel: kernel["modelled_us"])
    best = min(kernel["measured_us"] for kernel in kernels)
    errors = [math.log2(kernel["measured_us"] / kernel["modelled_us"]) for kernel in kernels]
    near = [place for place, kernel in enumerate(kernels) if kernel["measured_us"] <= NEAR * best]
    return kernels, errors, near


def spread_of_five(shapes):
    rows = []
    for shape in shapes:
        kernels, errors, near = errors_of(shape)
        usual = statistics.median(errors[place] for place in near)
        rows.append((math.log2(kernels[4]["modelled_us"] / kernels[0]["modelled_us"]), statistics.pstdev(errors[:5]),
                     statistics.mean(errors[:5]) - usual, errors[0] - usual))
    return [statistics.mean(column) for column in zip(*rows)]


def spread_by(shapes, key):
    """Standard deviation of errors of the kernels near their shape's best, by key(shape, kernel)."""
    groups = collections.defaultdict(list)
    for shape in shapes:
        kernels, errors, near = errors_of(shape)
        middle = statistics.mean(errors[place] for place in near)
        for place in near:
            groups[key(shape, kernels[place])].append(errors[place] - middle)
    return {name: (len(all_), round(math.sqrt(sum(e * e for e in all_) / len(all_)), 3)) for name, all_ in sorted(groups.items())}


def size_of(shape):
    return next((f"under {limit} us" for limit in (10, 20, 50) if shape["best_us"] < limit), "others")


def main():
    shapes = shapes_of(sys.argv[1:])
    print(f"{len(shapes)} shapes, {sum(len(shape['kernels']) for shape in shapes)} kernels; shapes that hold: five, champion, both")
    print("modelled times:", counted(shapes, lambda kernel: kernel["modelled_us"]))
    lot = random.Random(1)
    print("by lot:", counted(shapes, lambda kernel: lot.random(), DRAWS))
    for size in (0.05, 0.1, 0.15, 0.2, 0.3):
        noisy = lambda kernel: math.log2(kernel["measured_us"]) + lot.gauss(0, size)
        print(f"independent errors of {size} octaves:", counted(shapes, noisy, DRAWS))
    print("the five modelled fastest, means in octaves: modelled apart %.3f, errors apart %.3f (deviation), faster modelled than their "
          "shape's others by %.3f, the first by %.3f" % tuple(spread_of_five(shapes)))
    for name, key in (("all", lambda shape, kernel: ""), ("type", lambda shape, kernel: shape["name"].split("-")[0]),
                      ("template", lambda shape, kernel: kernel["template"]), ("best", lambda shape, kernel: size_of(shape))):
        print(f"errors by {name}, kernels and deviation:", spread_by(shapes, key))
    for name, key in (("type", lambda shape: shape["name"].split("-")[0]), ("best", size_of)):
        missed = collections.Counter(key(shape) for shape in shapes if shape["of_five_percent"] > 100 * (FIVE - 1))
        print(f"shapes that miss 6 % by {name}:", {group: f"{missed[group]} of {count}" for group, count in
                                                sorted(collections.Counter(map(key, shapes)).items())})


main()
