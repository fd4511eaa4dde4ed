import type { SampleTree } from "../data/sample_tree";
import type { Row } from "../data/sample_tree";
import type { Group } from "../data/grouping";
import type { Near } from "../data/sandwich";
import { h } from "../parts/dom";
import { change, percent, quantity } from "../parts/numbers";
import { sortedTable, type Column } from "../parts/table";
import { flameGraph } from "./flame_graph";
import type { Shown } from "./shown";

const MOST_NEAR = 100; // rows of each table

export function callersView(shown: Shown): HTMLElement {
  const { model, state, store, width, say } = shown;
  const tree = model.sampleTree(state);
  const { unit } = model.type(state);
  const row = model.chosen(state);
  if (!row) return h("p", {}, "Nothing is left by the filters.");

  const { callers, callees, above, below } = model.sandwich(state, row.id);
  const choose = (name: string, file: string) => store.set({ method: JSON.stringify([name, file]) }, true);
  const graph = (one: SampleTree, icicle: boolean, label: string) => flameGraph({
    tree: one, unit, width, icicle, zoom: one.children(0)[0] ?? 0, whole: tree.total[0], search: null, label, hovered: say,
    clicked: (node) => node !== 0 && choose(one.groups[one.group[node]].name, one.groups[one.group[node]].file),
  });
  return h("div", {},
    h("h2", {}, row.group.name, " ", h("small", {}, row.group.file)),
    h("p", {}, `${quantity(row.self, unit)} (${percent(row.self, tree.total[0])}) self, ${quantity(row.total, unit)} (${percent(row.total, tree.total[0])}) total `,
      h("button", { onclick: () => store.set({ view: "source", method: JSON.stringify([row.group.name, row.group.file]) }, true) }, "Source")),
    h("div", { class: "beside" }, neighbours("Callers", "(no caller)", above, row, shown), neighbours("Callees", "(itself)", below, row, shown)),
    h("h3", {}, "Callers"), graph(callers, false, `Who calls ${row.group.name}`),
    h("h3", {}, "Callees"), graph(callees, true, `What ${row.group.name} calls`));
}

interface Neighbour {
  group: Group | null; // null: the end of the way
  name: string;
  amount: number;
  base: number;
}

/** One step above or below the function, and what ends there: together all that the function has, and more where it calls itself. */
function neighbours(caption: string, end: string, found: readonly Near[], row: Row, { model, state, store, place }: Shown): HTMLElement {
  const { unit } = model.type(state);
  const tree = model.sampleTree(state);
  const near = found.map(({ group: id, total, base }): Neighbour => {
    const group = id < 0 ? null : tree.groups[id];
    return { group, name: group?.name ?? end, amount: total, base };
  });
  const columns: Column<Neighbour>[] = [
    { key: "total", title: "Total", value: ({ amount }) => amount, text: ({ amount }) => quantity(amount, unit) },
    { key: "share", title: "Of it", value: ({ amount }) => amount, text: ({ amount }) => percent(amount, row.total), share: ({ amount }) => amount / row.total },
    { key: "name", title: "Name", value: ({ name }) => name, cell: nameCell },
  ];
  if (tree.baseTotal) columns.splice(1, 0, { key: "change", title: "Change", value: ({ amount, base }) => amount - base, text: ({ amount, base }) => change(amount - base, unit) });
  return sortedTable({
    most: MOST_NEAR, whole: place.whole, caption, rows: near.filter(({ amount, base }) => amount !== 0 || base !== 0), columns, sort: state.sort, first: "total", sortBy: (sort) => store.set({ sort }, false),
  });

  function nameCell({ group, name }: Neighbour): HTMLElement {
    if (!group) return h("span", {}, name);
    return h("button", { class: "name", title: group.file, onclick: () => store.set({ method: JSON.stringify([name, group.file]) }, true) },
      h("span", { class: `swatch ${group.origin}` }), name);
  }
}
