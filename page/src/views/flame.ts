import { parsePart, partOf, type Part } from "../data/boxes";
import type { SampleTree } from "../data/sample_tree";
import { COLOURS } from "../data/doing";
import { matched } from "../data/search";
import { pattern } from "../model";
import { h, legend } from "../parts/dom";
import { percent, quantity } from "../parts/numbers";
import { breadcrumb } from "./breadcrumb";
import { describe, flameGraph } from "./flame_graph";
import { Minimap } from "./minimap";
import type { Shown } from "./shown";

const COMPARED = [["grown", "grown"], ["same", "as before"], ["shrunk", "shrunk"]] as const;

export function flameView({ model, state, store, width, place, say }: Shown): HTMLElement {
  const tree = model.sampleTree(state);
  const { unit, name } = model.type(state);
  const part = parsePart(state.span);
  const zoom = part ? 0 : tree.find(state.zoom);
  const search = pattern(state.search, "i");
  const whole = tree.total[0];
  const resting = () => say(zoom === 0 ? `${quantity(whole, unit)} of ${name} in all. ? lists the keys.` : describe(zoom, { tree, unit, whole }));
  const zoomTo = (node: number) => {
    place.box.path = tree.path(node);
    store.set({ zoom: tree.path(node), span: "" }, true);
    document.querySelector<HTMLElement>(".flame")?.focus();
  };
  const graph = flameGraph({
    tree, unit, width, zoom, search, part: part ?? undefined, icicle: state.icicle, whole, marked: place.box,
    label: `${state.icicle ? "Icicle" : "Flame"} graph of ${quantity(tree.total[zoom], unit)}. Arrow keys move, Enter zooms; the table and the tree say the same.`,
    clicked: zoomTo, hovered: say,
  });
  graph.addEventListener("pointerleave", resting);
  resting();
  const map = Minimap.of({ tree, width, icicle: state.icicle, search });
  map.show(part ?? partOf(tree, zoom), levelOf(tree, zoom), graph, (seen) => store.set({ span: spanText(seen), zoom: [] }, state.span === ""));
  const legends = tree.baseTotal ? COMPARED : COLOURS.filter(([colour]) => map.colours.has(colour));
  return h("div", {}, h("div", { class: "above" }, legend(legends), search && found(search), (zoom !== 0 || part) &&
    h("button", { onclick: () => zoomTo(0) }, "Reset zoom"), zoom !== 0 && methodButtons()), map.element,
    zoom !== 0 && breadcrumb(tree, zoom, zoomTo), graph);

  function found(search: RegExp) {
    const amount = matched(tree, search);
    return h("span", { id: "matched" }, `search: ${quantity(amount, unit)}, ${percent(amount, tree.total[0])}`);
  }

  function methodButtons() {
    const { name, file } = tree.groups[tree.group[zoom]];
    const method = JSON.stringify([name, file]);
    return h("span", {}, h("button", { onclick: () => store.set({ view: "callers", method }, true) }, "Callers and callees"), " ",
      h("button", { onclick: () => store.set({ view: "source", method }, true) }, "Source"), ` ${percent(tree.total[zoom], whole)} of all`);
  }
}

/** How many callers a node has, the root with them. */
function levelOf(tree: SampleTree, node: number): number {
  let level = 0;
  for (let at = node; at > 0; at = tree.parent[at]) level++;
  return level;
}

/** As it stands in an address; empty: all. */
function spanText([from, to]: Part): string {
  return from <= 0 && to >= 1 ? "" : `${Number(from.toFixed(6))}-${Number(to.toFixed(6))}`;
}
