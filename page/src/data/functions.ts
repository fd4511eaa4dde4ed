import { twice, type SampleTree, type Row } from "./sample_tree";

export function functions(tree: SampleTree): readonly Row[] {
  return (tree.rows ??= rowsOf(tree));
}

function rowsOf(tree: SampleTree): Row[] {
  const after = sums(tree, tree.self, tree.total);
  const base = tree.baseSelf && tree.baseTotal && sums(tree, tree.baseSelf, tree.baseTotal);
  const squares = tree.selfSquares && tree.totalSquares && sums(tree, tree.selfSquares, tree.totalSquares);
  return tree.groups
    .map((group, id) => ({
      id, group, self: after.self[id], total: after.total[id], baseSelf: base?.self[id] ?? 0, baseTotal: base?.total[id] ?? 0,
      selfError: twice(squares?.self[id]), totalError: twice(squares?.total[id]),
    }))
    .filter((row) => row.total !== 0 || row.baseTotal !== 0);
}

function sums(tree: SampleTree, ofNode: Float64Array, belowNode: Float64Array): { self: Float64Array; total: Float64Array } {
  const { group } = tree;
  const [self, total] = [new Float64Array(tree.groups.length), new Float64Array(tree.groups.length)];
  eachCall(tree, (node, outermost) => {
    self[group[node]] += ofNode[node];
    if (outermost) total[group[node]] += belowNode[node];
  });
  return { self, total };
}

/** Each node, callers first, and whether its group is not among its callers. */
export function eachCall(tree: SampleTree, visit: (node: number, outermost: boolean) => void): void {
  const { group, parent, first, next } = tree;
  const open = new Int32Array(tree.groups.length);
  for (let node = first[0]; node > 0; ) {
    visit(node, open[group[node]]++ === 0);
    if (first[node] > 0) {
      node = first[node];
      continue;
    }
    for (; node > 0; node = parent[node]) {
      open[group[node]]--;
      if (next[node] <= 0) continue;
      node = next[node];
      break;
    }
  }
}
