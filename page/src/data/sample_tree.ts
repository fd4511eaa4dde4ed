import { DOINGS, isRunning, statesOf, type Colour } from "./doing";
import { Sieve, NONE, type Filter } from "./filter";
import { Groups, type Group, type Grouping } from "./grouping";
import { stateFrame } from "./origin";
import { BASE, sideOf, TARGET, type Comparison } from "./sides";
import type { Profile } from "./profile";
import { StackTree } from "./stack_tree";

/** What a group comes to, wherever it is called from; a call within itself counts once. */
export interface Row {
  id: number;
  group: Group;
  self: number;
  total: number;
  baseSelf: number;
  baseTotal: number;
  selfError: number | null; // as SampleTree has it of nodes
  totalError: number | null;
}

export interface Question {
  type: number; // which value
  filter: Filter;
  grouping: Grouping;
  applicationOnly: boolean;
  tagroot: string[];
  tagleaf: string[];
  comparison: Comparison | null;
  columnOf: ArrayLike<number>; // the timeline's column of each window
  positions: Iterable<number>; // samples: where threads are now
}

/** What nodes have of their own. */
export interface Own {
  self: Float64Array;
  squares: Float64Array | null; // of the weights; null: no file says them
}

/** The calls that a question leaves, with their own and their total amounts. Parents come before their children; 0 is the root. */
export class SampleTree {
  readonly size: number;
  readonly parent: Int32Array;
  readonly group: Int32Array;
  readonly self: Float64Array;
  readonly total: Float64Array;
  readonly baseSelf: Float64Array | null; // of the side compared with
  readonly baseTotal: Float64Array | null;
  readonly selfSquares: Float64Array | null; // of both sides, as errors add up so
  readonly totalSquares: Float64Array | null;
  readonly lit = new Set<number>(); // nodes at which a thread is now
  readonly first: Int32Array; // child; 0: none
  readonly next: Int32Array; // sibling; 0: none
  rows: readonly Row[] | null = null; // of its functions, once they were asked for

  constructor(
    readonly groups: Group[],
    tree: StackTree,
    { self, squares }: Own,
    baseSelf: Float64Array | null,
    /** by which the base was multiplied, to compare shares */
    readonly scale: number,
    /** of `self`, by what threads did, as DOINGS has it; empty where there is none */
    private readonly inState: readonly Float64Array[],
  ) {
    this.size = tree.size;
    this.parent = tree.parent;
    this.group = tree.frame;
    this.self = self;
    this.baseSelf = baseSelf;
    this.total = this.summed(self);
    this.baseTotal = baseSelf && this.summed(baseSelf);
    this.selfSquares = squares;
    this.totalSquares = squares && this.summed(squares);
    this.first = tree.first;
    this.next = tree.siblings();
  }

  private summed(own: Float64Array): Float64Array {
    const total = own.slice(0, this.size);
    const { parent } = this;
    for (let node = this.size - 1; node > 0; node--) total[parent[node]] += total[node];
    return total;
  }

  /** Nodes at which a thread is now, and those above them. */
  way(): Set<number> {
    const way = new Set<number>();
    for (const node of this.lit) for (let at = node; at > 0 && !way.has(at); at = this.parent[at]) way.add(at);
    return way;
  }

  children(node: number): number[] {
    const children = [];
    for (let child = this.first[node]; child > 0; child = this.next[child]) children.push(child);
    return children;
  }

  /** As another thread has made it: it gave what it is made of, without what it can do. */
  static from(parts: SampleTree): SampleTree {
    return Object.assign(Object.create(SampleTree.prototype) as SampleTree, parts);
  }

  /** What can be given to another thread without a copy. */
  buffers(): ArrayBuffer[] {
    const { parent, group, self, total, baseSelf, baseTotal, selfSquares, totalSquares, first, next, inState } = this;
    const columns = [parent, group, self, total, baseSelf, baseTotal, selfSquares, totalSquares, first, next, ...inState];
    return [...new Set(columns.filter((column) => column !== null).map(({ buffer }) => buffer as ArrayBuffer))];
  }

  /** Of both sides in a comparison: what is gone has one, too. */
  weight(node: number): number {
    return this.total[node] + (this.baseTotal?.[node] ?? 0);
  }

  /** Two standard errors of its total, or in a comparison of the change; null: not known, or the root, as clocks decide what all comes to. */
  error(node: number): number | null {
    return node === 0 ? null : twice(this.totalSquares?.[node]);
  }

  name(node: number): string {
    return node === 0 ? "all" : this.groups[this.group[node]].name;
  }

  colour(node: number): Colour {
    if (node === 0) return "label";
    const group = this.groups[this.group[node]];
    const state = group.origin === "c" ? stateFrame(group.name) : "";
    if (state) return state;
    const own = this.self[node];
    // Only where most of it is its own: those above are what they are.
    const most = own > 0 && own * 2 >= this.total[node] ? this.inState.findIndex((column) => column[node] * 2 > own) : -1;
    return most < 0 ? group.origin : DOINGS[most].key;
  }

  /** Names from the root to the node. */
  path(node: number): string[] {
    const names = [];
    for (let at = node; at > 0; at = this.parent[at]) names.push(this.name(at));
    return names.reverse();
  }

  /** The node at the end of a path; 0 when there is none. */
  find(path: string[]): number {
    let node = 0;
    for (const name of path) {
      const child = this.children(node).find((one) => this.name(one) === name);
      if (child === undefined) return 0;
      node = child;
    }
    return node;
  }
}

/** Two standard errors. */
export function twice(squares: number | undefined): number | null {
  return squares === undefined || Number.isNaN(squares) ? null : 2 * Math.sqrt(squares);
}

export function sampleTree(profile: Profile, question: Question): SampleTree {
  const groups = new Groups();
  const tree = new StackTree();
  tree.reserve(profile.stacks.size, Math.min(profile.stacks.size, profile.sampleCount));
  const place = new Places(profile, question, groups, tree);
  const sieve = new Sieve(profile, question.filter, question.columnOf);
  const side = question.comparison ? sideOf(profile, question.comparison, question.columnOf) : () => TARGET;
  const values = profile.values[question.type];
  const squares = profile.squares[question.type];
  const told = statesOf(profile, question.type);
  const sums = new Sums(profile.stacks.size);
  let node = 0;
  const inState = (doing: number, amount: number) => isRunning(doing) || sums.inState[doing].add(node, amount);

  for (const sample of place.order()) {
    if (!sieve.keeps(sample)) continue;
    const sides = side(sample);
    if (sides === 0 || !values[sample]) continue;
    node = place.of(sample);
    if (sides & BASE) sums.base.add(node, values[sample], squares?.[sample]);
    if (!(sides & TARGET)) continue;
    sums.target.add(node, values[sample], squares?.[sample]);
    told(sample, inState);
  }
  const lit = [...question.positions].filter((sample) => sieve.keepsWhenever(sample)).map((sample) => place.of(sample));
  const shown = sums.tree(groups.list, tree, question.comparison);
  for (const node of lit) shown.lit.add(node);
  return shown;
}

/** The node of the shown tree for each sample: its stack's frames as groups, between the frames of its labels. */
class Places {
  private readonly groupOf: Int32Array;
  private readonly known: Int32Array; // one more than a stack's node under one root; 0: not known
  private readonly knownUnder: Int32Array; // which root; empty: there is only one
  private readonly roots: number[][]; // groups above the stack, of each label set
  private readonly leaves: number[][];
  private readonly rootIds: number[];
  private readonly rootCount: number;
  private readonly joins: boolean;
  private readonly missing: number[] = []; // of the stack that is being placed

  constructor(
    private readonly profile: Profile,
    question: Question,
    private readonly groups: Groups,
    private readonly tree: StackTree,
  ) {
    this.joins = question.grouping !== "function";
    this.groupOf = groups.ofFrames(profile, question.grouping, question.applicationOnly);
    this.known = new Int32Array(profile.stacks.size);
    this.roots = this.tagFrames(question.tagroot);
    this.leaves = this.tagFrames(question.tagleaf);
    const ids = new Map<string, number>();
    this.rootIds = this.roots.map((root) => {
      const key = root.join();
      if (!ids.has(key)) ids.set(key, ids.size);
      return ids.get(key)!;
    });
    this.rootCount = ids.size;
    this.knownUnder = new Int32Array(ids.size > 1 ? profile.stacks.size : 0);
  }

  private tagFrames(keys: string[]): number[][] {
    return this.profile.labelSets.map((labels) =>
      keys.map((key) => this.groups.id(`[${key}: ${labels.get(key) ?? NONE}]`, "", "label")));
  }

  /** Samples root by root, so that what is known of one root is remembered once. */
  order(): Int32Array {
    const { sampleLabels, sampleCount } = this.profile;
    const next = new Int32Array(this.rootCount + 1);
    for (let sample = 0; sample < sampleCount; sample++) next[this.rootIds[sampleLabels[sample]] + 1]++;
    for (let at = 1; at < next.length; at++) next[at] += next[at - 1];
    const order = new Int32Array(sampleCount);
    for (let sample = 0; sample < sampleCount; sample++) order[next[this.rootIds[sampleLabels[sample]]]++] = sample;
    return order;
  }

  of(sample: number): number {
    const labels = this.profile.sampleLabels[sample];
    let node = this.ofStack(this.profile.sampleNode[sample], labels);
    for (const group of this.leaves[labels]) node = this.tree.child(node, group);
    return node;
  }

  private ofStack(stack: number, labels: number): number {
    const { parent, frame } = this.profile.stacks;
    const { missing, known, knownUnder } = this;
    const root = this.rootIds[labels];
    const several = this.rootCount > 1;
    let count = 0;
    let at = stack;
    while (at !== 0 && (known[at] === 0 || (several && knownUnder[at] !== root))) {
      missing[count++] = at;
      at = parent[at];
    }
    let node = at === 0 ? this.rootNode(labels) : known[at] - 1;
    for (let index = count - 1; index >= 0; index--) {
      const group = this.groupOf[frame[missing[index]]];
      if (group >= 0) node = this.under(node, group);
      known[missing[index]] = node + 1;
      if (several) knownUnder[missing[index]] = root;
    }
    return node;
  }

  /** A class that calls itself is one box, as is a gem and a file; a function that does is two. */
  private under(node: number, group: number): number {
    return this.joins && this.tree.frame[node] === group ? node : this.tree.child(node, group);
  }

  private rootNode(labels: number): number {
    let node = 0;
    for (const group of this.roots[labels]) node = this.tree.child(node, group);
    return node;
  }
}

/** Amounts by node. It has no room until something is added. */
class Column {
  values = new Float64Array(0);

  constructor(private readonly expected: number) {}

  add(node: number, amount: number): void {
    if (node >= this.values.length) this.reach(node + 1);
    this.values[node] += amount;
  }

  /** Room for so many nodes. */
  reach(size: number): Float64Array {
    if (size > this.values.length) {
      const larger = new Float64Array(Math.max(size, this.values.length * 2, this.expected, 16));
      larger.set(this.values);
      this.values = larger;
    }
    return this.values;
  }
}

/** One side of a comparison, or all. */
class SideSums {
  readonly self: Column;
  readonly squares: Column;
  private known = false; // squares

  constructor(expected: number) {
    this.self = new Column(expected);
    this.squares = new Column(expected);
  }

  add(node: number, amount: number, squares: number | undefined): void {
    this.self.add(node, amount);
    if (squares === undefined) return;
    this.known = true;
    this.squares.add(node, squares);
  }

  own(size: number): Own {
    return { self: this.self.reach(size), squares: this.known ? this.squares.reach(size) : null };
  }
}

/** What each node has of its own. */
class Sums {
  readonly target: SideSums;
  readonly base: SideSums;
  readonly inState: readonly Column[];

  constructor(expected: number) {
    this.target = new SideSums(expected);
    this.base = new SideSums(expected);
    this.inState = DOINGS.map(() => new Column(expected));
  }

  tree(groups: Group[], tree: StackTree, comparison: Comparison | null): SampleTree {
    const target = this.target.own(tree.size);
    const states = this.inState.map(({ values }) => values);
    if (!comparison) return new SampleTree(groups, tree, target, null, 1, states);
    const base = this.base.own(tree.size);
    const scale = comparison.relative ? total(target.self) / (total(base.self) || 1) || 1 : 1;
    const squares = target.squares ?? base.squares;
    const both = squares && Float64Array.from({ length: tree.size }, (_, node) => (target.squares?.[node] ?? 0) + scale * scale * (base.squares?.[node] ?? 0));
    return new SampleTree(groups, tree, { self: target.self, squares: both }, scale === 1 ? base.self : base.self.map((one) => one * scale), scale, states);
  }
}

function total(column: Float64Array): number {
  return column.reduce((sum, one) => sum + one, 0);
}
