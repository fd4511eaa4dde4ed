import { SampleTree } from "./sample_tree";
import { StackTree } from "./stack_tree";

/** A group one step above or below another one, as reports in Ruby have it: a call counts once in a stack, also where it is within itself. */
export interface Near {
  group: number; // -1: the end of the way
  total: number;
  base: number;
}

/** Who calls a group, and what it calls: two trees whose root's only child is the group itself; and those that are next to it. */
export interface Sandwich {
  callers: SampleTree;
  callees: SampleTree;
  above: Near[];
  below: Near[];
}

export function sandwich(tree: SampleTree, group: number): Sandwich {
  const [callers, callees] = [new Builder(tree), new Builder(tree)];
  const place = new Int32Array(tree.size); // of a node among the callees; 0: it is not below the group
  for (let node = 1; node < tree.size; node++) {
    const above = place[tree.parent[node]];
    if (above === 0 && tree.group[node] !== group) continue;
    place[node] = callees.stacks.child(above, tree.group[node]);
    callees.add(place[node], tree.self[node], tree.baseSelf?.[node], tree.selfSquares?.[node]);
    if (above === 0) callers.add(callers.above(node), tree.total[node], tree.baseTotal?.[node], tree.totalSquares?.[node]); // within itself it counts once
  }
  return { callers: callers.build(), callees: callees.build(), ...neighbours(tree, group) };
}

/** As another thread has made it. */
export function sandwichFrom({ callers, callees, above, below }: Sandwich): Sandwich {
  return { callers: SampleTree.from(callers), callees: SampleTree.from(callees), above, below };
}

function neighbours(tree: SampleTree, group: number): { above: Near[]; below: Near[] } {
  const [above, below] = [new Map<number, Near>(), new Map<number, Near>()];
  const add = (to: Map<number, Near>, near: number, total: number, base: number) => {
    const one = to.get(near) ?? { group: near, total: 0, base: 0 };
    one.total += total;
    one.base += base;
    to.set(near, one);
  };
  const callerOf = (node: number) => (tree.parent[node] > 0 ? tree.group[tree.parent[node]] : -1);
  const isRepeated = (node: number) => {
    for (let at = tree.parent[node]; at > 0; at = tree.parent[at]) if (tree.group[at] === tree.group[node] && callerOf(at) === callerOf(node)) return true;
    return false;
  };
  for (let node = 1; node < tree.size; node++) {
    const [called, caller] = [tree.group[node], callerOf(node)];
    if (called === group) add(below, -1, tree.self[node], tree.baseSelf?.[node] ?? 0);
    if ((called !== group && caller !== group) || isRepeated(node)) continue;
    const [total, base] = [tree.total[node], tree.baseTotal?.[node] ?? 0];
    if (called === group) add(above, caller, total, base);
    if (caller === group) add(below, called, total, base);
  }
  return { above: [...above.values()], below: [...below.values()] };
}

class Builder {
  readonly stacks = new StackTree();
  private readonly self: number[] = [];
  private readonly base: number[] = [];
  private readonly squares: number[] = [];

  constructor(private readonly tree: SampleTree) {}

  add(at: number, self: number, base = 0, squares = 0): void {
    this.self[at] = (this.self[at] ?? 0) + self;
    this.base[at] = (this.base[at] ?? 0) + base;
    this.squares[at] = (this.squares[at] ?? 0) + squares;
  }

  /** The stack of a node, from itself to its root. */
  above(node: number): number {
    let at = 0;
    for (let one = node; one > 0; one = this.tree.parent[one]) at = this.stacks.child(at, this.tree.group[one]);
    return at;
  }

  build(): SampleTree {
    const { baseSelf, selfSquares, groups, scale } = this.tree;
    const column = (sums: number[]) => Float64Array.from({ length: this.stacks.size }, (_, node) => sums[node] ?? 0);
    return new SampleTree(groups, this.stacks, { self: column(this.self), squares: selfSquares && column(this.squares) }, baseSelf && column(this.base), scale, []);
  }
}
