import type { SampleTree } from "./sample_tree";

/** What calls with such a name come to; one within another counts once. */
export function matched(tree: SampleTree, search: RegExp): number {
  const names = Uint8Array.from(tree.groups, ({ name }) => Number(search.test(name)));
  const within = new Uint8Array(tree.size);
  let sum = 0;
  for (let node = 1; node < tree.size; node++) {
    const outer = within[tree.parent[node]];
    const found = names[tree.group[node]];
    within[node] = outer | found;
    if (found && !outer) sum += tree.total[node];
  }
  return sum;
}
