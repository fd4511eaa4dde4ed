import type { CallTree } from "./call_tree";
import type { Group } from "./grouping";

/** What a group comes to, wherever it is called from; a call within itself counts once. */
export interface Row {
  id: number;
  group: Group;
  self: number;
  total: number;
  baseSelf: number;
  baseTotal: number;
}

export function functions(tree: CallTree): Row[] {
  const rows: Row[] = tree.groups.map((group, id) => ({ id, group, self: 0, total: 0, baseSelf: 0, baseTotal: 0 }));
  eachCall(tree, (node, outermost) => {
    const row = rows[tree.group[node]];
    row.self += tree.self[node];
    row.baseSelf += tree.baseSelf?.[node] ?? 0;
    if (!outermost) return;
    row.total += tree.total[node];
    row.baseTotal += tree.baseTotal?.[node] ?? 0;
  });
  return rows.filter((row) => row.total !== 0 || row.baseTotal !== 0);
}

/** Each node, callers first, and whether its group is not among its callers. */
export function eachCall(tree: CallTree, visit: (node: number, outermost: boolean) => void): void {
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
