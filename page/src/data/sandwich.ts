import { CallTree } from "./call_tree";
import { StackTree } from "./stack_tree";

/** Who calls a group, and what it calls: two trees whose root's only child is the group itself. */
export interface Sandwich {
  callers: CallTree;
  callees: CallTree;
}

export function sandwich(tree: CallTree, group: number): Sandwich {
  const [callers, callees] = [new Builder(tree), new Builder(tree)];
  const place = new Int32Array(tree.size); // of a node among the callees; 0: it is not below the group
  for (let node = 1; node < tree.size; node++) {
    const above = place[tree.parent[node]];
    if (above === 0 && tree.group[node] !== group) continue;
    place[node] = callees.stacks.child(above, tree.group[node]);
    callees.add(place[node], tree.self[node], tree.baseSelf?.[node] ?? 0);
    if (above === 0) callers.add(callers.above(node), tree.total[node], tree.baseTotal?.[node] ?? 0); // within itself it counts once
  }
  return { callers: callers.build(), callees: callees.build() };
}

/** As another thread has made it. */
export function sandwichFrom({ callers, callees }: Sandwich): Sandwich {
  return { callers: CallTree.from(callers), callees: CallTree.from(callees) };
}

class Builder {
  readonly stacks = new StackTree();
  private readonly self: number[] = [];
  private readonly base: number[] = [];

  constructor(private readonly tree: CallTree) {}

  add(at: number, self: number, base: number): void {
    this.self[at] = (this.self[at] ?? 0) + self;
    this.base[at] = (this.base[at] ?? 0) + base;
  }

  /** The stack of a node, from itself to its root. */
  above(node: number): number {
    let at = 0;
    for (let one = node; one > 0; one = this.tree.parent[one]) at = this.stacks.child(at, this.tree.group[one]);
    return at;
  }

  build(): CallTree {
    const column = (sums: number[]) => Float64Array.from({ length: this.stacks.size }, (_, node) => sums[node] ?? 0);
    const none = new Float64Array(0);
    return new CallTree(this.tree.groups, this.stacks, column(this.self), this.tree.baseSelf && column(this.base), { gc: none, waiting: none });
  }
}
