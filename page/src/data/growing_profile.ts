import type { Frame, Labels, Profile, Stacks, ValueType, Window } from "./profile";
import { StackTree } from "./stack_tree";

/** A profile to which files and live processes add. */
export class GrowingProfile implements Profile {
  readonly types: ValueType[] = [];
  readonly frames: Frame[] = [];
  readonly stacks = new StackTree();
  readonly labelSets: Labels[] = [];
  readonly windows: Window[] = [];
  defaultType = "";

  readonly sampleNode: number[] = [];
  readonly sampleLabels: number[] = [];
  readonly sampleWindow: number[] = [];
  readonly values: number[][] = [];
  readonly squares: (number[] | null)[] = [];

  private readonly frameIds = new Map<string, number>();
  private readonly labelIds = new Map<string, number>();

  addWindow(window: Window): number {
    this.windows.push(window);
    return this.windows.length - 1;
  }

  /** The index of a type; samples from before it was known have none of it. */
  type(name: string, unit: string): number {
    const known = this.types.findIndex((type) => type.name === name && type.unit === unit);
    if (known >= 0) return known;
    this.types.push({ name, unit });
    this.values.push(new Array<number>(this.sampleNode.length).fill(0));
    this.squares.push(null);
    return this.types.length - 1;
  }

  /** The squares of a type; samples from before they were known have none. */
  squaresOf(type: number): number[] {
    return (this.squares[type] ??= new Array<number>(this.sampleNode.length).fill(NaN));
  }

  frame(name: string, file: string, line: number): number {
    const key = `${line}\0${file}\0${name}`;
    let id = this.frameIds.get(key);
    if (id === undefined) {
      id = this.frames.push({ name, file, line }) - 1;
      this.frameIds.set(key, id);
    }
    return id;
  }

  labels(labels: Labels): number {
    const key = JSON.stringify([...labels].sort(([a], [b]) => (a < b ? -1 : 1)));
    let id = this.labelIds.get(key);
    if (id === undefined) {
      id = this.labelSets.push(labels) - 1;
      this.labelIds.set(key, id);
    }
    return id;
  }

  /** @returns the sample, whose values are 0 and whose squares are not known until they are set */
  addSample(node: number, labels: number, window: number): number {
    this.sampleNode.push(node);
    this.sampleLabels.push(labels);
    this.sampleWindow.push(window);
    for (const column of this.values) column.push(0);
    for (const column of this.squares) column?.push(NaN);
    return this.sampleNode.length - 1;
  }

  /** Makes one window of the first ones, with one sample a stack and label set. @returns where each sample went */
  joinWindows(count: number): Int32Array {
    const summed = [...this.values, ...this.squares.filter((column) => column !== null)];
    const into = new Int32Array(this.sampleCount);
    const joined = new Map<number, number>();
    let kept = 0;
    for (let sample = 0; sample < into.length; sample++) {
      const window = Math.max(this.sampleWindow[sample] - count + 1, 0);
      const key = this.sampleNode[sample] * this.labelSets.length + this.sampleLabels[sample];
      const known = window === 0 ? joined.get(key) : undefined;
      into[sample] = known ?? kept++;
      if (window === 0) joined.set(key, into[sample]);
      if (known === undefined) {
        this.sampleNode[into[sample]] = this.sampleNode[sample];
        this.sampleLabels[into[sample]] = this.sampleLabels[sample];
        this.sampleWindow[into[sample]] = window;
      }
      for (const column of summed) column[into[sample]] = (known === undefined ? 0 : column[known]) + column[sample];
    }
    for (const column of [this.sampleNode, this.sampleLabels, this.sampleWindow, ...summed]) column.length = kept;
    this.windows.splice(0, count - 1);
    return into;
  }

  get sampleCount(): number {
    return this.sampleNode.length;
  }
}

/**
 * As it is now, in arrays that another thread can be given without a copy. What is near in the tree is near in memory, as each question goes
 * through all of it: where samples came in any order, nodes are put depth first and samples in their order.
 */
export function handedOver(profile: GrowingProfile): { profile: Profile; buffers: ArrayBuffer[] } {
  const { types, frames, labelSets, windows, defaultType, sampleCount } = profile;
  const { stacks, sampleNode, order } = placed(profile);
  const column = (from: number[]) => (order ? Int32Array.from(order, (sample) => from[sample]) : Int32Array.from(from));
  const [sampleLabels, sampleWindow] = [column(profile.sampleLabels), column(profile.sampleWindow)];
  const amounts = (from: number[]) => (order ? Float64Array.from(order, (sample) => from[sample]) : Float64Array.from(from));
  const values = profile.values.map(amounts);
  const squares = profile.squares.map((from) => from && amounts(from));
  return {
    profile: { types, frames, stacks, labelSets, windows, defaultType, sampleCount, sampleNode, sampleLabels, sampleWindow, values, squares },
    buffers: [stacks.parent, stacks.frame, sampleNode, sampleLabels, sampleWindow, ...values, ...squares.filter((column) => column !== null)].map(({ buffer }) => buffer as ArrayBuffer),
  };
}

/** @returns the stacks, the samples' nodes in them, and which sample each one was; no order: samples and nodes are where they were */
function placed({ stacks, sampleNode }: GrowingProfile): { stacks: Stacks; sampleNode: Int32Array<ArrayBuffer>; order: Int32Array | null } {
  if (isNear(stacks)) return { stacks: withoutRoom(stacks), sampleNode: Int32Array.from(sampleNode), order: null };
  const { stacks: moved, place } = depthFirst(stacks);
  const order = inOrder(sampleNode, place);
  return { stacks: moved, sampleNode: Int32Array.from(order, (sample) => place[sampleNode[sample]]), order };
}

function withoutRoom({ parent, frame, size }: Stacks): Stacks {
  return { parent: parent.subarray(0, size), frame: frame.subarray(0, size), size };
}

const NEAR = 2 ** 16; // nodes: of each column so many are in the cache together
const MOST_FAR = 0.01;

/** Whether nearly all nodes are near their parents: then to move them takes longer than it saves. */
function isNear({ parent, size }: Stacks): boolean {
  let far = 0;
  for (let node = 1; node < size; node++) if (node - parent[node] > NEAR) far++;
  return far <= size * MOST_FAR;
}

/** @returns the stacks, and where each node of before is in them */
function depthFirst(tree: StackTree) {
  const { parent, frame, first, size } = tree;
  const next = tree.siblings();
  const place = new Int32Array(size);
  const stacks = { parent: new Int32Array(size), frame: new Int32Array(size), size };
  stacks.parent[0] = stacks.frame[0] = -1;
  let count = 1;
  for (let node = first[0]; node > 0; ) {
    stacks.parent[count] = place[parent[node]];
    stacks.frame[count] = frame[node];
    place[node] = count++;
    if (first[node] > 0) {
      node = first[node];
      continue;
    }
    while (node > 0 && next[node] === 0) node = parent[node];
    node = next[node];
  }
  return { stacks, place };
}

/** @returns samples by where their nodes go */
function inOrder(nodes: number[], place: Int32Array): Int32Array {
  const next = new Int32Array(place.length + 1);
  for (const node of nodes) next[place[node] + 1]++;
  for (let at = 1; at < next.length; at++) next[at] += next[at - 1];
  const order = new Int32Array(nodes.length);
  nodes.forEach((node, sample) => (order[next[place[node]]++] = sample));
  return order;
}
