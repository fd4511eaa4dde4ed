import { CallTree } from "./call_tree";
import { eachCall } from "./functions";
import { StackTree } from "./stack_tree";

/** Who calls a group, and what it calls: two trees whose root's only child is the group itself. */
export interface Sandwich {
  callers: CallTree;
  callees: CallTree;
}

export function sandwich(tree: CallTree, group: number): Sandwich {
  const callers = new Builder(tree);
  const callees = new Builder(tree);
  eachCall(tree, (node, outermost) => {
    if (tree.group[node] !== group || !outermost) return;
    callers.add(callers.above(node), node, true);
    callees.below(node);
  });
  return { callers: callers.build(), callees: callees.build() };
}

class Builder {
  private readonly stacks = new StackTree();
  private readonly self: number[] = [];
  private readonly base: number[] = [];

  constructor(private readonly tree: CallTree) {}

  /** @param whole the total of the node, else its own */
  add(at: number, node: number, whole: boolean): void {
    const { tree } = this;
    this.self[at] = (this.self[at] ?? 0) + (whole ? tree.total : tree.self)[node];
    this.base[at] = (this.base[at] ?? 0) + ((whole ? tree.baseTotal : tree.baseSelf)?.[node] ?? 0);
  }

  /** The stack of a node, from itself to its root. */
  above(node: number): number {
    let at = 0;
    for (let one = node; one > 0; one = this.tree.parent[one]) at = this.stacks.child(at, this.tree.group[one]);
    return at;
  }

  below(node: number): void {
    const pending: [number, number][] = [[node, 0]];
    while (pending.length > 0) {
      const [one, parent] = pending.pop()!;
      const at = this.stacks.child(parent, this.tree.group[one]);
      this.add(at, one, false);
      for (const child of this.tree.children(one)) pending.push([child, at]);
    }
  }

  build(): CallTree {
    const column = (sums: number[]) => Float64Array.from({ length: this.stacks.size }, (_, node) => sums[node] ?? 0);
    const none = new Float64Array(0);
    return new CallTree(this.tree.groups, this.stacks, column(this.self), this.tree.baseSelf && column(this.base), { gc: none, waiting: none });
  }
}
