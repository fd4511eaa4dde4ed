import type { CallTree } from "../data/call_tree";
import { functions, type Row } from "../data/functions";
import { sandwich } from "../data/sandwich";
import { pair } from "../model";
import { h } from "../parts/dom";
import { percent, quantity } from "../parts/numbers";
import { flameGraph } from "./flame_graph";
import type { Shown } from "./view";

/** The function that the state names, or else the one with the most of its own. */
export function chosen(tree: CallTree, method: string): Row | undefined {
  const rows = functions(tree);
  const named = pair(method);
  const found = named && rows.find(({ group }) => group.name === named[0] && group.file === (named[1] ?? ""));
  return found ?? rows.sort((a, b) => b.self - a.self)[0];
}

export function callersView(shown: Shown): HTMLElement {
  const { model, state, store, width, say } = shown;
  const tree = model.callTree(state);
  const { unit } = model.type(state);
  const row = chosen(tree, state.method);
  if (!row) return h("p", {}, "Nothing is left by the filters.");

  const { callers, callees } = sandwich(tree, row.id);
  const choose = (name: string, file: string) => store.set({ method: JSON.stringify([name, file]) }, true);
  const graph = (one: CallTree, icicle: boolean, label: string) => flameGraph({
    tree: one, unit, width, icicle, zoom: one.children(0)[0] ?? 0, whole: tree.total[0], search: null, label, hovered: say,
    clicked: (node) => node !== 0 && choose(one.groups[one.group[node]].name, one.groups[one.group[node]].file),
  });
  return h("div", {},
    h("h2", {}, row.group.name, " ", h("small", {}, row.group.file)),
    h("p", {}, `${quantity(row.self, unit)} (${percent(row.self, tree.total[0])}) self, ${quantity(row.total, unit)} (${percent(row.total, tree.total[0])}) total `,
      h("button", { onclick: () => store.set({ view: "source", method: JSON.stringify([row.group.name, row.group.file]) }, true) }, "Source")),
    h("div", { class: "beside" }, neighbours("Callers", callers, row, unit, choose), neighbours("Callees", callees, row, unit, choose)),
    h("h3", {}, "Callers"), graph(callers, false, `Who calls ${row.group.name}`),
    h("h3", {}, "Callees"), graph(callees, true, `What ${row.group.name} calls`));
}

/** One step above or below the function. */
function neighbours(caption: string, tree: CallTree, row: Row, unit: string, choose: (name: string, file: string) => void): HTMLElement {
  const node = tree.children(0)[0] ?? 0;
  const rows = tree.children(node).map((child) => ({ group: tree.groups[tree.group[child]], amount: tree.total[child] }))
    .filter(({ amount }) => amount !== 0).sort((a, b) => b.amount - a.amount);
  return h("table", {}, h("caption", {}, caption),
    h("thead", {}, h("tr", {}, ["Total", "Of it", "Name"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, rows.slice(0, 50).map(({ group, amount }) => h("tr", {},
      h("td", { class: "number" }, quantity(amount, unit)), h("td", { class: "number" }, percent(amount, row.total)),
      h("td", {}, h("button", { class: "name", onclick: () => choose(group.name, group.file) }, h("span", { class: `swatch ${group.origin}` }), group.name))))));
}
