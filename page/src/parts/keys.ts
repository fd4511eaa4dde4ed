import { h } from "./dom";

const KEYS: [keys: string, what: string][] = [
  ["1 to 7", "views"], ["/", "search"], ["arrows", "move in the graph, the tree and the timeline"], ["Enter", "zooms or opens"], ["Escape", "zooms out"],
  ["i", "flame or icicle"], ["d", "light or dark"], [", .", "the snapshot before, the next one"], ["+ −", "in the overview: narrow and widen what is seen"],
  ["p", "live: hold what is shown, go on"], ["x", "live: begin anew"], ["?", "this list"],
];

/** The keys, over the page; Escape closes it. */
export function keysDialog(): HTMLDialogElement {
  const dialog: HTMLDialogElement = h("dialog", { id: "keys", "aria-label": "Keys" },
    h("h2", {}, "Keys"), h("dl", {}, KEYS.map(([keys, what]) => h("div", {}, h("dt", {}, h("kbd", {}, keys)), h("dd", {}, what)))),
    h("button", { onclick: () => dialog.close() }, "Close"));
  return dialog;
}
