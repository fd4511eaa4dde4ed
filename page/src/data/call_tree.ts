import type { Row } from "./functions";
import { GC, Sieve, states, NONE, WAITING, type Filter } from "./filter";
import { Groups, type Group, type Grouping } from "./grouping";
import { stateFrame, type Colour } from "./origin";
import { BASE, sideOf, TARGET, type Comparison } from "./sides";
import type { Profile } from "./profile";
import { StackTree } from "./stack_tree";

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

/** The calls that a question leaves, with their own and their total amounts. Parents come before their children; 0 is the root. */
export class CallTree {
  readonly size: number;
  readonly parent: Int32Array;
  readonly group: Int32Array;
  readonly self: Float64Array;
  readonly total: Float64Array;
  readonly baseSelf: Float64Array | null; // of the side compared with
  readonly baseTotal: Float64Array | null;
  readonly lit = new Set<number>(); // nodes at which a thread is now
  readonly first: Int32Array; // child; 0: none
  readonly next: Int32Array; // sibling; 0: none
  rows: readonly Row[] | null = null; // of its functions, once they were asked for

  constructor(
    readonly groups: Group[],
    tree: StackTree,
    self: Float64Array,
    baseSelf: Float64Array | null,
    /** of `self`: the GC's, and that of threads which wait; empty where there is none */
    private readonly inState: { gc: Float64Array; waiting: Float64Array },
  ) {
    this.size = tree.size;
    this.parent = tree.parent;
    this.group = tree.frame;
    this.self = self;
    this.baseSelf = baseSelf;
    this.total = this.summed(self);
    this.baseTotal = baseSelf && this.summed(baseSelf);
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
  static from(parts: CallTree): CallTree {
    return Object.assign(Object.create(CallTree.prototype) as CallTree, parts);
  }

  /** What can be given to another thread without a copy. */
  buffers(): ArrayBuffer[] {
    const { parent, group, self, total, baseSelf, baseTotal, first, next, inState } = this;
    const columns = [parent, group, self, total, baseSelf, baseTotal, first, next, inState.gc, inState.waiting];
    return [...new Set(columns.filter((column) => column !== null).map(({ buffer }) => buffer as ArrayBuffer))];
  }

  /** Of both sides in a comparison: what is gone has one, too. */
  weight(node: number): number {
    return this.total[node] + (this.baseTotal?.[node] ?? 0);
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
    if (own > 0 && own * 2 >= this.total[node]) {
      if (this.inState.gc[node] * 2 > own) return "gc";
      if (this.inState.waiting[node] * 2 > own) return "waiting";
    }
    return group.origin;
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

export function callTree(profile: Profile, question: Question): CallTree {
  const groups = new Groups();
  const tree = new StackTree();
  tree.reserve(profile.stacks.size, Math.min(profile.stacks.size, profile.sampleCount));
  const place = new Places(profile, question, groups, tree);
  const sieve = new Sieve(profile, question.filter, question.columnOf);
  const side = question.comparison ? sideOf(profile, question.comparison, question.columnOf) : () => TARGET;
  const values = profile.values[question.type];
  const state = states(profile);
  const sums = new Sums(question.comparison !== null, state, profile.stacks.size);

  for (const sample of place.order()) {
    if (!sieve.keeps(sample)) continue;
    const sides = side(sample);
    if (sides === 0 || !values[sample]) continue;
    sums.add(place.of(sample), values[sample], sides, state[profile.sampleLabels[sample]]);
  }
  const lit = [...question.positions].filter((sample) => sieve.keepsWhenever(sample)).map((sample) => place.of(sample));
  const shown = sums.tree(groups.list, tree, question.comparison?.absolute ?? true);
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

/** What each node has of its own; columns that nothing goes to have no room. */
class Sums {
  private self: Float64Array;
  private base: Float64Array;
  private gc: Float64Array;
  private waiting: Float64Array;

  constructor(private readonly compared: boolean, states: Uint8Array, expected: number) {
    const room = (needed: boolean) => new Float64Array(needed ? Math.max(expected, 16) : 0);
    this.self = room(true);
    this.base = room(compared);
    this.gc = room(states.includes(GC));
    this.waiting = room(states.includes(WAITING));
  }

  add(node: number, amount: number, sides: number, state: number): void {
    while (node >= this.self.length) this.grow();
    if (sides & BASE) this.base[node] += amount;
    if (!(sides & TARGET)) return;
    this.self[node] += amount;
    if (state === GC) this.gc[node] += amount;
    else if (state === WAITING) this.waiting[node] += amount;
  }

  tree(groups: Group[], tree: StackTree, absolute: boolean): CallTree {
    while (tree.size > this.self.length) this.grow();
    const { gc, waiting } = this;
    return new CallTree(groups, tree, this.self, this.compared ? this.scaled(absolute) : null, { gc, waiting });
  }

  private scaled(absolute: boolean): Float64Array {
    const total = (column: Float64Array) => column.reduce((sum, one) => sum + one, 0);
    const factor = absolute ? 1 : total(this.self) / (total(this.base) || 1) || 1;
    return this.base.map((one) => one * factor);
  }

  private grow(): void {
    this.self = doubled(this.self);
    this.base = doubled(this.base);
    this.gc = doubled(this.gc);
    this.waiting = doubled(this.waiting);
  }
}

function doubled(array: Float64Array): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(array.length * 2);
  larger.set(array);
  return larger;
}
