import type { SampleTree } from "../data/sample_tree";
import { h, menu } from "../parts/dom";
import { shortened } from "../parts/numbers";

const NEAREST = 2; // callers that are shown at once; the others are in a menu

/** The callers of the box that fills the width, from the root on: a click zooms out to one of them. */
export function breadcrumb(tree: SampleTree, zoom: number, clicked: (node: number) => void): HTMLElement {
  const callers: number[] = [];
  for (let node = tree.parent[zoom]; node > 0; node = tree.parent[node]) callers.unshift(node);
  const crumb = (node: number) => h("button", { class: "crumb", title: `Zoom out to ${shortened(tree.name(node))}`, onclick: () => clicked(node) }, tree.name(node));
  const far = callers.slice(0, -NEAREST);
  const others = far.length > 1
    ? [menu(`${far.length} callers`, () => far.map((node) => h("button", { class: "name", onclick: () => clicked(node) }, tree.name(node))))]
    : far.map(crumb);
  const entries = [crumb(0), ...others, ...callers.slice(-NEAREST).map(crumb), h("strong", { "aria-current": "location", title: shortened(tree.name(zoom)) }, tree.name(zoom))];
  return h("nav", { class: "breadcrumb", "aria-label": "Callers of the zoomed frame" }, h("ol", {}, entries.map((entry) => h("li", {}, entry))));
}
