import flamegraph from "d3-flame-graph";
import { select } from "d3-selection";
import type { CallTree } from "../data/call_tree";
import { h } from "../parts/dom";
import { change, percent, quantity } from "../parts/numbers";

const MOST_BOXES = 3000; // what SVG shows without a wait
const BOX_HEIGHT = 18;

/** A box: a node of the call tree. What is too narrow to be seen is no box until somebody comes closer. */
interface Box {
  name: string;
  value: number;
  children: Box[];
  node: number;
  fade?: boolean;
}

export interface GraphOptions {
  tree: CallTree;
  unit: string;
  width: number;
  icicle: boolean;
  zoom: number; // the node that fills the width
  whole: number; // what shares are of
  search: RegExp | null;
  label: string;
  clicked(node: number): void;
  hovered(text: string): void;
}

export function flameGraph(options: GraphOptions): HTMLElement {
  const { tree, zoom } = options;
  const holder = h("div", { class: "flame", role: "img", tabindex: 0, "aria-label": options.label });
  const root = withCallers(tree, zoom, boxesBelow(tree, zoom, options.width));
  const graph = flamegraph<Box>()
    .width(options.width)
    .cellHeight(BOX_HEIGHT)
    .inverted(options.icicle)
    .transitionDuration(0)
    .resetHeightOnZoom(true)
    .sort((a, b) => b.data.value - a.data.value || (a.data.name < b.data.name ? -1 : 1))
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

/** Boxes of at least a pixel, or as wide as it takes for them not to be too many. */
function boxesBelow(tree: CallTree, zoom: number, width: number): Box {
  const whole = tree.weight(zoom);
  for (let pixels = 1; ; pixels *= 2) {
    const smallest = (whole * pixels) / width;
    const top: Box = { name: tree.name(zoom), value: whole, children: [], node: zoom };
    const pending = [top];
    let count = 0;
    while (pending.length > 0 && count <= MOST_BOXES) {
      const box = pending.pop()!;
      count++;
      for (const node of tree.children(box.node)) {
        const value = tree.weight(node);
        if (value < smallest || value <= 0) continue;
        const child: Box = { name: tree.name(node), value, children: [], node };
        box.children.push(child);
        pending.push(child);
      }
    }
    if (count <= MOST_BOXES) return top;
  }
}

function withCallers(tree: CallTree, zoom: number, top: Box): Box {
  let root = top;
  for (let node = zoom; node > 0; node = tree.parent[node]) {
    const caller = tree.parent[node];
    root = { name: tree.name(caller), value: top.value, children: [root], node: caller, fade: true };
  }
  return root;
}

function describe(node: number, { tree, unit, whole }: GraphOptions): string {
  const group = node === 0 ? null : tree.groups[tree.group[node]];
  const place = group?.file ? ` (${group.file})` : "";
  const amounts = `${quantity(tree.total[node], unit)}, ${percent(tree.total[node], whole)}; self ${quantity(tree.self[node], unit)}`;
  if (!tree.baseTotal) return `${tree.name(node)}${place}: ${amounts}`;
  return `${tree.name(node)}${place}: ${amounts}; ${change(tree.total[node] - tree.baseTotal[node], unit)} against the base`;
}

/** In a comparison red has grown and blue has shrunk; else it says whose code it is. */
function colour(node: number, { tree, search }: GraphOptions): string {
  if (search && (node === 0 || !search.test(tree.name(node)))) return "var(--box-other)";
  if (!tree.baseTotal) return `var(--box-${tree.colour(node)})`;
  const [before, after] = [tree.baseTotal[node], tree.total[node]];
  const share = (after - before) / Math.max(after, before, 1);
  if (Math.abs(share) < 0.005) return "var(--box-same)";
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
function light(holder: HTMLElement, { lit, parent }: CallTree): void {
  const way = new Set<number>();
  for (const node of lit) for (let at = node; at > 0 && !way.has(at); at = parent[at]) way.add(at);
  if (way.size === 0) return;
  select(holder).selectAll<SVGGElement, { data: Box }>("g.frame")
    .classed("way", ({ data }) => way.has(data.node)).classed("lit", ({ data }) => lit.has(data.node));
}

/** Arrow keys go from box to box, Enter zooms, Escape goes out. */
function steer(holder: HTMLElement, root: Box, options: GraphOptions): void {
  const parents = new Map<Box, Box>();
  const fill = (box: Box) => box.children.forEach((child) => (parents.set(child, box), fill(child)));
  fill(root);
  let here = root;
  while (here.fade) here = here.children[0];
  const siblings = (box: Box) => [...(parents.get(box)?.children ?? [box])].sort((a, b) => b.value - a.value || (a.name < b.name ? -1 : 1));
  const beside = (by: number) => {
    const row = siblings(here);
    return row[row.indexOf(here) + by];
  };
  const inner = () => [...here.children].sort((a, b) => b.value - a.value || (a.name < b.name ? -1 : 1))[0];
  const outer = () => parents.get(here);

  const mark = () => {
    select(holder).selectAll<SVGGElement, { data: Box }>("g.frame").classed("here", ({ data }) => data === here);
    options.hovered(describe(here.node, options));
  };
  holder.addEventListener("keydown", (event) => {
    const [up, down] = options.icicle ? [outer, inner] : [inner, outer];
    const goes: Record<string, () => Box | undefined> = {
      ArrowUp: up, ArrowDown: down, ArrowLeft: () => beside(-1), ArrowRight: () => beside(1),
    };
    if (event.key in goes) {
      here = goes[event.key]() ?? here;
      mark();
    } else if (event.key === "Enter") options.clicked(here.node);
    else if (event.key === "Escape") options.clicked(0);
    else return;
    event.preventDefault();
  });
}
