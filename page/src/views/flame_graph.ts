// Boxes, their size and their behaviour. Their colours are in ../style.css: --box-*.
import flamegraph from "d3-flame-graph";
import { select } from "d3-selection";
import { boxesBelow, inOrder, type Box, type Part } from "../data/boxes";
import type { SampleTree } from "../data/sample_tree";
import { h, isShortcut } from "../parts/dom";
import { change, error, growth, percent, quantity, shortened } from "../parts/numbers";

export const BOX_HEIGHT = 18;

/** A box, by its names from the root on. */
export interface Marked {
  path: string[];
}

export interface GraphOptions {
  tree: SampleTree;
  unit: string;
  width: number;
  icicle: boolean;
  zoom: number; // the node that fills the width
  part?: Part; // of that node: what is seen
  whole: number; // what shares are of
  marked?: Marked; // where the keys are
  search: RegExp | null;
  label: string;
  clicked(node: number): void;
  hovered(text: string): void;
}

export function flameGraph(options: GraphOptions): HTMLElement {
  const { tree, zoom } = options;
  const holder = h("div", { class: "flame", role: "img", tabindex: 0, "aria-label": options.label });
  const root = boxesBelow(tree, zoom, options.width, options.part);
  const graph = flamegraph<Box>()
    .width(options.width)
    .cellHeight(BOX_HEIGHT)
    .inverted(options.icicle)
    .transitionDuration(0)
    .resetHeightOnZoom(true)
    .sort((a, b) => inOrder(a.data, b.data))
    .label(({ data }) => describe(data.node, options))
    .color(({ data }) => colour(data.node, options))
    .onHover(({ data }) => options.hovered(describe(data.node, options)))
    .onClick(({ data }) => options.clicked(data.node));
  graph(select(holder).datum(root));
  fill(holder);
  light(holder, tree);
  steer(holder, root, options);
  return holder;
}

const LEAST_HEIGHT = 240; // of what is seen of a graph: less is no help on a low screen
const BELOW = 48; // the line at the bottom

/** To be called when it is on the page: the root is seen, whatever the depth; what is beyond is scrolled to. */
export function fitIn(panel: HTMLElement, icicle: boolean, before: number | null): void {
  for (const graph of panel.querySelectorAll<HTMLElement>(".flame")) {
    const top = graph.getBoundingClientRect().top + scrollY;
    graph.style.maxHeight = `${Math.max(Math.floor(innerHeight - top - BELOW), LEAST_HEIGHT)}px`;
    graph.scrollTop = icicle ? before ?? 0 : graph.scrollHeight - graph.clientHeight - (before ?? 0);
    graph.dispatchEvent(new Event("scroll")); // also where it stays where it is: what is seen of it is known now
  }
}

/** How far it is scrolled away from the root. */
export function scrolledBy(panel: HTMLElement, icicle: boolean): number | null {
  const graph = panel.querySelector<HTMLElement>(".flame");
  return graph && (icicle ? graph.scrollTop : graph.scrollHeight - graph.clientHeight - graph.scrollTop);
}

/** What a box comes to, the place last: a narrow line shows its begin. */
export function describe(node: number, { tree, unit, whole }: Pick<GraphOptions, "tree" | "unit" | "whole">): string {
  const file = node === 0 ? "" : tree.groups[tree.group[node]].file;
  const errors = error(tree.error(node), unit);
  const { self, total, baseSelf, baseTotal } = tree;
  const amounts = baseSelf && baseTotal
    ? `${growth(baseTotal[node], total[node], unit)} (${change(total[node] - baseTotal[node], unit)}${errors}); self ${growth(baseSelf[node], self[node], unit)}`
    : `${quantity(total[node], unit)}${errors}, ${percent(total[node], whole)}; self ${quantity(self[node], unit)}`;
  return `${shortened(tree.name(node))}: ${amounts}${file && ` – ${shortened(file)}`}`;
}

/** In a comparison red has grown and blue has shrunk, by more than chance does; else it says whose code it is. */
export function colour(node: number, { tree, search }: Pick<GraphOptions, "tree" | "search">): string {
  if (search && (node === 0 || !search.test(tree.name(node)))) return "var(--box-other)";
  if (!tree.baseTotal) return `var(--box-${tree.colour(node)})`;
  const [before, after] = [tree.baseTotal[node], tree.total[node]];
  const share = (after - before) / Math.max(after, before, 1);
  if (Math.abs(share) < 0.005 || Math.abs(after - before) <= (tree.error(node) ?? 0)) return "var(--box-same)";
  const strength = Math.round(25 + 75 * Math.min(Math.abs(share), 1));
  return `color-mix(in oklab, var(--box-${share > 0 ? "grown" : "shrunk"}) ${strength}%, var(--box-same))`;
}

/** At once: the component does so in transitions, which begin a frame later, and one that is drawn again and again would flicker. */
function fill(holder: HTMLElement): void {
  select(holder).selectAll<SVGGElement, { data: Box }>("g.frame").each(function ({ data }) {
    this.querySelector("rect")!.setAttribute("width", this.getAttribute("width")!);
    this.querySelector("foreignObject div")!.textContent = data.name;
  });
}

/** Where threads are now, and the way there. */
function light(holder: HTMLElement, tree: SampleTree): void {
  const { lit } = tree;
  const way = tree.way();
  if (way.size === 0) return;
  select(holder).selectAll<SVGGElement, { data: Box }>("g.frame")
    .classed("way", ({ data }) => way.has(data.node)).classed("lit", ({ data }) => lit.has(data.node));
}

/** Arrow keys go from box to box, Enter zooms, Escape goes out. The box at which they are is in sight, and stays when the graph is drawn again. */
function steer(holder: HTMLElement, root: Box, options: GraphOptions): void {
  const { tree, marked } = options;
  const parents = new Map<Box, Box>();
  const known = (box: Box) => box.children.forEach((child) => (parents.set(child, box), known(child)));
  known(root);
  const before = tree.find(marked?.path ?? []);
  let here = [...parents.keys()].find((box) => box.node === before) ?? root;
  const siblings = (box: Box) => [...(parents.get(box)?.children ?? [box])].sort(inOrder);
  const beside = (by: number) => {
    const row = siblings(here);
    return row[row.indexOf(here) + by];
  };
  const inner = () => [...here.children].sort((a, b) => b.value - a.value)[0];
  const outer = () => parents.get(here);
  const mark = () => select(holder).selectAll<SVGGElement, { data: Box }>("g.frame").classed("here", ({ data }) => data === here);
  const go = (box: Box) => {
    here = box;
    if (marked) marked.path = tree.path(box.node);
    mark();
    holder.querySelector(".frame.here")?.scrollIntoView({ block: "nearest", inline: "nearest" });
    options.hovered(describe(box.node, options));
  };
  mark();
  holder.addEventListener("keydown", (event) => {
    if (isShortcut(event)) return;
    const [up, down] = options.icicle ? [outer, inner] : [inner, outer];
    const goes: Record<string, () => Box | undefined> = {
      ArrowUp: up, ArrowDown: down, ArrowLeft: () => beside(-1), ArrowRight: () => beside(1),
    };
    if (event.key in goes) {
      const box = goes[event.key]();
      if (box) go(box);
      else if (goes[event.key] === outer && here.node > 0) options.clicked(tree.parent[here.node]);
    } else if (event.key === "Enter") options.clicked(here.node);
    else if (event.key === "Escape") options.clicked(0);
    else return;
    event.preventDefault();
  });
}
