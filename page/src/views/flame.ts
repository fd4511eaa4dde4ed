import { parsePart, partOf, type Part } from "../data/boxes";
import { COLOURS } from "../data/origin";
import { matched } from "../data/search";
import { pattern } from "../model";
import { h, legend } from "../parts/dom";
import { percent, quantity } from "../parts/numbers";
import { flameGraph } from "./flame_graph";
import { Minimap } from "./minimap";
import type { Shown } from "./view";

const COMPARED = [["grown", "grown"], ["same", "as before"], ["shrunk", "shrunk"]] as const;

export function flameView({ model, state, store, width, say }: Shown): HTMLElement {
  const tree = model.callTree(state);
  const { unit } = model.type(state);
  const part = parsePart(state.span);
  const zoom = part ? 0 : tree.find(state.zoom);
  const search = pattern(state.search, "i");
  const graph = flameGraph({
    tree, unit, width, zoom, search, part: part ?? undefined, icicle: state.icicle, whole: tree.total[0],
    label: `${state.icicle ? "Icicle" : "Flame"} graph of ${quantity(tree.total[0], unit)}. Arrow keys move, Enter zooms; the table and the tree say the same.`,
    clicked: (node) => {
      store.set({ zoom: tree.path(node), span: "" }, true);
      document.querySelector<HTMLElement>(".flame")?.focus();
    },
    hovered: say,
  });
  say(`${quantity(tree.total[0], unit)} of ${model.type(state).name} in all. ? lists the keys.`);
  const map = Minimap.of({ tree, width, icicle: state.icicle, search });
  map.show(part ?? partOf(tree, zoom), graph, (seen) => store.set({ span: spanText(seen), zoom: [] }));
  return h("div", {}, h("div", { class: "above" }, legend(tree.baseTotal ? COMPARED : Object.entries(COLOURS)), search && found(search), (zoom !== 0 || part) &&
    h("button", { onclick: () => store.set({ zoom: [], span: "" }, true) }, "Reset zoom"), zoom !== 0 && methodButtons()), map.element, graph);

  function found(search: RegExp) {
    const amount = matched(tree, search);
    return h("span", { id: "matched" }, `search: ${quantity(amount, unit)}, ${percent(amount, tree.total[0])}`);
  }

  function methodButtons() {
    const { name, file } = tree.groups[tree.group[zoom]];
    const method = JSON.stringify([name, file]);
    return h("span", {}, h("button", { onclick: () => store.set({ view: "callers", method }, true) }, "Callers and callees"), " ",
      h("button", { onclick: () => store.set({ view: "source", method }, true) }, "Source"), ` ${percent(tree.total[zoom], tree.total[0])} of all`);
  }
}

/** As it stands in an address; empty: all. */
function spanText([from, to]: Part): string {
  return from <= 0 && to >= 1 ? "" : `${Number(from.toFixed(6))}-${Number(to.toFixed(6))}`;
}
