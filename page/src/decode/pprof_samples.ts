import { PbfReader } from "pbf";
import type { GrowingProfile } from "../data/growing_profile";
import type { Labels } from "../data/profile";
import { StackTree } from "../data/stack_tree";
import type { Location, Tables } from "./pprof_tables";

/** Numbers of profile.proto's fields. */
const SAMPLE = { location: 1, value: 2, label: 3 };
const BYTES_OF_NODE = 6; // of a large file, or more: room that is not used costs nothing
const PACKED = 2; // how fields are written
const MORE = 0x80; // set in every byte of a number but its last
const LOW = 0x7f;
const LABEL = { key: 1, text: 2, number: 3 };

/**
 * The samples of a pprof: nearly all of its bytes. What neighbours share of their stacks is neither read nor looked up again, and no sample makes
 * objects of its own.
 */
export class Samples {
  private readonly frames: Frames;
  private readonly labels: LabelSets;
  private readonly pbf: PbfReader;
  private readonly nodes: number[] = []; // of the sample before, after each of its locations, the outermost first
  // Where the locations of the sample before are, packed: its innermost first. Empty: it had them in another way.
  private from = 0;
  private to = 0;
  // Of the sample that is being read.
  private readonly stack: number[] = []; // locations, the innermost first
  private readonly values: number[] = [];

  constructor(
    private readonly tables: Tables,
    private readonly profile: GrowingProfile,
    private readonly columns: number[],
    private readonly window: number,
    private readonly bytes: Uint8Array,
  ) {
    this.pbf = new PbfReader(bytes);
    this.frames = new Frames(tables, profile);
    this.labels = new LabelSets(tables.strings, profile);
  }

  read(): void {
    const { pbf } = this;
    const { samples } = this.tables;
    const { stacks } = this.profile;
    stacks.reserve(stacks.size + this.bytes.length / BYTES_OF_NODE, samples.length / 2);
    for (let at = 0; at < samples.length; at += 2) {
      pbf.pos = samples[at];
      this.readSample(samples[at + 1]);
    }
  }

  private readSample(end: number): void {
    const { pbf, stack, values, labels, columns, profile } = this;
    stack.length = values.length = 0;
    let set = 0;
    let [from, to] = [0, 0];
    for (let field = pbf.nextField(end); field; field = pbf.nextField(end)) {
      if (field === SAMPLE.location && pbf.type === PACKED && to === 0 && stack.length === 0) {
        to = pbf.readVarint() + pbf.pos;
        from = pbf.pos;
        if (to > end) throw new Error("cut short");
        pbf.pos = to;
      } else if (field === SAMPLE.location) {
        const { pos, type } = pbf;
        this.readStack(from, to); // what was packed before these
        from = to = 0;
        [pbf.pos, pbf.type] = [pos, type];
        readNumbers(pbf, stack);
      } else if (field === SAMPLE.value) readNumbers(pbf, values);
      else if (field === SAMPLE.label) set = labels.with(set, pbf);
    }
    const sample = profile.addSample(to > 0 ? this.packedNode(from, to) : this.node(0), labels.id(set), this.window);
    [this.from, this.to] = [from, to];
    for (let index = 0; index < columns.length; index++) profile.values[columns[index]][sample] = values[index] ?? 0;
  }

  /** The node of locations that stand between two places: those that are the last bytes of the sample before, too, are known. */
  private packedNode(from: number, to: number): number {
    const { bytes } = this;
    let depth = 0;
    let at = to;
    let before = this.to;
    const least = Math.max(from, to - (this.to - this.from));
    while (at > least && bytes[at - 1] === bytes[before - 1]) {
      at--;
      before--;
      if (bytes[at] < MORE) depth++;
    }
    const whole = (at === from || bytes[at - 1] < MORE) && (before === this.from || bytes[before - 1] < MORE);
    if (!whole) { // the first of these bytes are the end of numbers that differ
      depth--;
      while (bytes[at++] >= MORE);
    }
    this.readStack(from, at);
    return this.node(depth);
  }

  private readStack(from: number, to: number): void {
    const { bytes, stack, pbf } = this;
    if (to > from && bytes[to - 1] >= MORE) throw new Error("cut short");
    for (let at = from; at < to; ) {
      const byte = bytes[at];
      if (byte < MORE) {
        stack.push(byte);
        at++;
      } else if (bytes[at + 1] < MORE) {
        stack.push((byte & LOW) | (bytes[at + 1] << 7));
        at += 2;
      } else {
        pbf.pos = at;
        stack.push(pbf.readVarint(true));
        at = pbf.pos;
      }
    }
  }

  /** @param depth how many locations it shares with the sample before; `stack` has the others */
  private node(depth: number): number {
    const { stack, nodes, frames } = this;
    const { stacks } = this.profile;
    let node = depth > 0 ? nodes[depth - 1] : 0;
    for (let at = stack.length - 1; at >= 0; at--, depth++) {
      const frame = frames.only(stack[at]);
      if (frame >= 0) node = stacks.child(node, frame);
      else for (const one of frames.several(stack[at])) node = stacks.child(node, one);
      nodes[depth] = node;
    }
    return node;
  }
}

const SEVERAL = -1; // or none
const MOST_LABEL_SETS = 2_000_000; // beyond them the browser would be out of memory
const SPARSE = 8; // locations are numbered from 1, by nearly everybody: in a list of at most so many times their count

/** The frames of each location: one, or several where calls were inlined. */
class Frames {
  private readonly onlyOne: Int32Array; // by the location's number; of no use where that is too large
  private readonly lists = new Map<number, number[]>(); // the outermost first

  constructor(private readonly tables: Tables, private readonly profile: GrowingProfile) {
    const { locations } = tables;
    const largest = locations.reduce((most, { id }) => Math.max(most, id), 0);
    this.onlyOne = new Int32Array(largest <= locations.length * SPARSE ? largest + 1 : 0).fill(SEVERAL);
    for (const location of locations) {
      const list = this.listOf(location);
      this.lists.set(location.id, list);
      if (list.length === 1 && location.id < this.onlyOne.length) this.onlyOne[location.id] = list[0];
    }
  }

  /** Negative: ask for several. */
  only(location: number): number {
    return location < this.onlyOne.length ? this.onlyOne[location] : SEVERAL;
  }

  several(location: number): number[] {
    const list = this.lists.get(location);
    if (!list) throw new Error(`a sample names location ${location}, which is not there`);
    return list;
  }

  private listOf(location: Location): number[] {
    const { strings, functions, mappings } = this.tables;
    if (location.lines.length === 0) {
      const file = strings[mappings.get(location.mapping) ?? 0] ?? "";
      return [this.profile.frame(`0x${location.address.toString(16)}`, file, 0)];
    }
    return location.lines.map((line) => {
      const entry = functions.get(line.function);
      return this.profile.frame(strings[entry?.name ?? 0] || "?", strings[entry?.file ?? 0] ?? "", line.line);
    }).reverse();
  }
}

/** Label sets that were seen: a set is another one and a label more. Most samples have one that is known. */
class LabelSets {
  private readonly sets = new StackTree();
  private readonly labels: { name: string; value: string }[] = [];
  private readonly texts = new Map<number, number>(); // key and text of a label, as one number
  private readonly numbers: Map<number, number>[] = []; // of each key
  private readonly ids: number[] = []; // of the sets that samples have

  constructor(private readonly strings: string[], private readonly profile: GrowingProfile) {}

  /** @returns the set that has the label, too, at which the reader is */
  with(set: number, pbf: PbfReader): number {
    let [name, text, number] = [0, 0, 0];
    const end = pbf.readVarint() + pbf.pos;
    for (let field = pbf.nextField(end); field; field = pbf.nextField(end)) {
      if (field === LABEL.key) name = pbf.readVarint();
      else if (field === LABEL.text) text = pbf.readVarint();
      else if (field === LABEL.number) number = pbf.readVarint(true);
    }
    return this.sets.child(set, text === 0 ? this.counted(name, number) : this.named(name, text));
  }

  id(set: number): number {
    if (this.profile.labelSets.length > MOST_LABEL_SETS) throw new Error("too many different sets of labels");
    return (this.ids[set] ??= this.profile.labels(this.labelsOf(set)));
  }

  private named(name: number, text: number): number {
    const key = name * this.strings.length + text;
    return this.texts.get(key) ?? this.added(this.texts, key, name, this.strings[text] ?? "");
  }

  private counted(name: number, number: number): number {
    const known = (this.numbers[name] ??= new Map<number, number>());
    return known.get(number) ?? this.added(known, number, name, String(number));
  }

  private added(to: Map<number, number>, key: number, name: number, value: string): number {
    const label = this.labels.push({ name: this.strings[name] ?? "", value }) - 1;
    to.set(key, label);
    return label;
  }

  private labelsOf(set: number): Labels {
    const found: [string, string][] = [];
    for (let at = set; at > 0; at = this.sets.parent[at]) {
      const { name, value } = this.labels[this.sets.frame[at]];
      found.push([name, value]);
    }
    return new Map(found.reverse());
  }
}

/** Repeated numbers, packed or one by one. */
function readNumbers(pbf: PbfReader, into: number[]): void {
  if (pbf.type === 2) pbf.readPackedVarint(into, true);
  else into.push(pbf.readVarint(true));
}
