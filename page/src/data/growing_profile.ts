import type { Frame, Labels, Profile, ValueType, Window } from "./profile";
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
    return this.types.length - 1;
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

  /** @returns the sample, whose values are 0 until they are set */
  addSample(node: number, labels: number, window: number): number {
    this.sampleNode.push(node);
    this.sampleLabels.push(labels);
    this.sampleWindow.push(window);
    for (const column of this.values) column.push(0);
    return this.sampleNode.length - 1;
  }

  /** Makes one window of the first ones, with one sample a stack and label set. @returns where each sample went */
  joinWindows(count: number): Int32Array {
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
      for (const column of this.values) column[into[sample]] = (known === undefined ? 0 : column[known]) + column[sample];
    }
    for (const column of [this.sampleNode, this.sampleLabels, this.sampleWindow, ...this.values]) column.length = kept;
    this.windows.splice(0, count - 1);
    return into;
  }

  get sampleCount(): number {
    return this.sampleNode.length;
  }
}

/** As it is now, in arrays that another thread can be given without a copy. */
export function handedOver(profile: GrowingProfile): { profile: Profile; buffers: ArrayBuffer[] } {
  const { types, frames, stacks, labelSets, windows, defaultType, sampleCount } = profile;
  const parent = stacks.parent.slice(0, stacks.size);
  const frame = stacks.frame.slice(0, stacks.size);
  const [sampleNode, sampleLabels, sampleWindow] = [profile.sampleNode, profile.sampleLabels, profile.sampleWindow].map((column) => Int32Array.from(column));
  const values = profile.values.map((column) => Float64Array.from(column));
  return {
    profile: {
      types, frames, stacks: { parent, frame, size: stacks.size }, labelSets, windows, defaultType, sampleCount, sampleNode, sampleLabels, sampleWindow, values,
    },
    buffers: [parent, frame, sampleNode, sampleLabels, sampleWindow, ...values].map(({ buffer }) => buffer),
  };
}
