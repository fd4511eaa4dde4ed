import { PbfReader } from "pbf";
import type { Labels, Profile, Side } from "../data/profile";

/** Numbers of profile.proto's fields. */
const PROFILE = { sampleType: 1, sample: 2, mapping: 3, location: 4, function: 5, string: 6, time: 9, duration: 10, default: 14 };
const SAMPLE = { location: 1, value: 2, label: 3 };

interface Location {
  id: number;
  mapping: number;
  address: number;
  lines: { function: number; line: number }[]; // the innermost first
}
interface FunctionEntry {
  id: number;
  name: number;
  file: number;
}

/** Everything but the samples, which refer to what may stand after them: of those only where they are. */
class Tables {
  strings: string[] = [];
  types: { type: number; unit: number }[] = [];
  locations: Location[] = [];
  functions = new Map<number, FunctionEntry>();
  mappings = new Map<number, number>(); // id => the file's name
  samples: number[] = []; // begin, end, begin, end ...
  time = 0;
  duration = 0;
  defaultType = 0;
}

export function decodePprof(bytes: Uint8Array, name: string, side: Side, profile: Profile): void {
  const pbf = new PbfReader(bytes);
  const tables = pbf.readFields(readTables, new Tables());
  if (tables.types.length === 0 || tables.strings[0] !== "") throw new Error("not a profile that this page reads");

  const text = (index: number) => tables.strings[index] ?? "";
  const columns = tables.types.map(({ type, unit }) => profile.type(text(type), text(unit)));
  const last = tables.types[tables.types.length - 1];
  profile.defaultType ||= text(tables.defaultType) || text(last.type);
  const window = profile.addWindow({ name, start: tables.time, duration: tables.duration, side });
  new Samples(tables, profile, columns, window).read(bytes);
}

function readTables(tag: number, tables: Tables, pbf: PbfReader): void {
  switch (tag) {
    case PROFILE.sampleType:
      tables.types.push(pbf.readMessage((field, type, at) => {
        if (field === 1) type.type = at.readVarint();
        else if (field === 2) type.unit = at.readVarint();
      }, { type: 0, unit: 0 }));
      break;
    case PROFILE.sample: {
      const end = pbf.readVarint() + pbf.pos;
      if (end > pbf.length) throw new Error("cut short");
      tables.samples.push(pbf.pos, end);
      pbf.pos = end;
      break;
    }
    case PROFILE.mapping: {
      const mapping = pbf.readMessage((field, one, at) => {
        if (field === 1) one.id = at.readVarint();
        else if (field === 5) one.file = at.readVarint();
      }, { id: 0, file: 0 });
      tables.mappings.set(mapping.id, mapping.file);
      break;
    }
    case PROFILE.location: tables.locations.push(readLocation(pbf)); break;
    case PROFILE.function: {
      const entry = pbf.readMessage((field, one, at) => {
        if (field === 1) one.id = at.readVarint();
        else if (field === 2) one.name = at.readVarint();
        else if (field === 4) one.file = at.readVarint();
      }, { id: 0, name: 0, file: 0 });
      tables.functions.set(entry.id, entry);
      break;
    }
    case PROFILE.string: tables.strings.push(pbf.readString()); break;
    case PROFILE.time: tables.time = pbf.readVarint(true); break;
    case PROFILE.duration: tables.duration = pbf.readVarint(true); break;
    case PROFILE.default: tables.defaultType = pbf.readVarint(); break;
  }
}

function readLocation(pbf: PbfReader): Location {
  return pbf.readMessage((field, location: Location, at) => {
    if (field === 1) location.id = at.readVarint();
    else if (field === 2) location.mapping = at.readVarint();
    else if (field === 3) location.address = at.readVarint();
    else if (field === 4) {
      location.lines.push(at.readMessage((part, line, here) => {
        if (part === 1) line.function = here.readVarint();
        else if (part === 2) line.line = here.readVarint(true);
      }, { function: 0, line: 0 }));
    }
  }, { id: 0, mapping: 0, address: 0, lines: [] });
}

class Samples {
  private readonly frames = new Map<number, number[]>(); // location => frames, the outermost first
  private readonly labelIds = new Map<string, number>();
  // The stack of the sample before, the outermost location first: neighbours share most of theirs.
  private readonly before: number[] = [];
  private readonly nodes: number[] = [];
  // Of the sample that is being read.
  private readonly stack: number[] = []; // locations, the innermost first
  private readonly values: number[] = [];
  private readonly labelSpans: number[] = []; // begin, end ...

  constructor(
    private readonly tables: Tables,
    private readonly profile: Profile,
    private readonly columns: number[],
    private readonly window: number,
  ) {
    for (const location of tables.locations) this.frames.set(location.id, this.framesOf(location));
  }

  read(bytes: Uint8Array): void {
    const pbf = new PbfReader(bytes);
    const { samples } = this.tables;
    for (let at = 0; at < samples.length; at += 2) {
      pbf.pos = samples[at];
      this.readSample(pbf, samples[at + 1]);
    }
  }

  private readSample(pbf: PbfReader, end: number): void {
    const { stack, values, labelSpans } = this;
    stack.length = values.length = labelSpans.length = 0;
    for (let field = pbf.nextField(end); field; field = pbf.nextField(end)) {
      if (field === SAMPLE.location) readNumbers(pbf, stack);
      else if (field === SAMPLE.value) readNumbers(pbf, values);
      else if (field === SAMPLE.label) {
        const labelEnd = pbf.readVarint() + pbf.pos;
        labelSpans.push(pbf.pos, labelEnd);
        pbf.pos = labelEnd;
      }
    }
    const sample = this.profile.addSample(this.node(), this.labels(pbf, labelSpans), this.window);
    pbf.pos = end;
    for (let index = 0; index < this.columns.length; index++) this.profile.values[this.columns[index]][sample] = values[index] ?? 0;
  }

  private node(): number {
    const { stack, before, nodes } = this;
    let depth = 0;
    for (let at = stack.length - 1; at >= 0 && stack[at] === before[depth]; at--) depth++;
    let node = depth > 0 ? nodes[depth - 1] : 0;
    for (let at = stack.length - 1 - depth; at >= 0; at--, depth++) {
      const frames = this.frames.get(stack[at]);
      if (!frames) throw new Error(`a sample names location ${stack[at]}, which is not there`);
      for (const frame of frames) node = this.profile.stacks.child(node, frame);
      before[depth] = stack[at];
      nodes[depth] = node;
    }
    before.length = depth;
    return node;
  }

  private framesOf(location: Location): number[] {
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

  private labels(pbf: PbfReader, spans: number[]): number {
    let key = "";
    for (let at = 0; at < spans.length; at += 2) key += this.label(pbf, spans[at], spans[at + 1]);
    let id = this.labelIds.get(key);
    if (id === undefined) {
      id = this.profile.labels(this.named(key));
      this.labelIds.set(key, id);
    }
    return id;
  }

  /** Numbers of the key, of the text, and the number: a text of its own, as most label sets were seen before. */
  private label(pbf: PbfReader, begin: number, end: number): string {
    let [name, text, number] = [0, 0, 0];
    pbf.pos = begin;
    for (let field = pbf.nextField(end); field; field = pbf.nextField(end)) {
      if (field === 1) name = pbf.readVarint();
      else if (field === 2) text = pbf.readVarint();
      else if (field === 3) number = pbf.readVarint(true);
    }
    return `${name} ${text} ${number};`;
  }

  private named(key: string): Labels {
    const { strings } = this.tables;
    const labels: Labels = {};
    for (const label of key.split(";").slice(0, -1)) {
      const [name, text, number] = label.split(" ");
      labels[strings[Number(name)] ?? ""] = text === "0" ? number : (strings[Number(text)] ?? "");
    }
    return labels;
  }
}

/** Repeated numbers, packed or one by one. */
function readNumbers(pbf: PbfReader, into: number[]): void {
  if (pbf.type === 2) pbf.readPackedVarint(into, true);
  else into.push(pbf.readVarint(true));
}
