import type { Stacks } from "./profile";

const MOST_NODES = 64 * 2 ** 20; // three numbers each: beyond them the browser would be out of memory

/**
 * Stacks that grow.
 * Most nodes have one child, which stands beside them. Only further ones are in a hash table: to look there costs a miss of the cache or two.
 */
export class StackTree implements Stacks {
  parent: Int32Array;
  frame: Int32Array;
  size = 1;
  first: Int32Array; // the child that came first; 0: none
  private slots = new Int32Array(1024); // further children; 0: a free slot
  private further = 0;

  /** @param expected how many nodes there will be, as far as is known: to grow takes time */
  constructor(expected = 1024) {
    this.parent = new Int32Array(Math.max(expected, 16));
    this.frame = new Int32Array(this.parent.length);
    this.first = new Int32Array(this.parent.length);
    this.parent[0] = -1;
    this.frame[0] = -1;
  }

  /** The node of that frame under that parent, made when it is new. */
  child(parent: number, frame: number): number {
    const first = this.first[parent];
    if (first !== 0) return this.frame[first] === frame ? first : this.furtherChild(parent, frame);
    const node = this.add(parent, frame);
    this.first[parent] = node;
    return node;
  }

  /** Room for what is to come: to grow again and again takes time. */
  reserve(nodes: number, branches: number): void {
    if (this.parent.length < nodes) this.grow(Math.ceil(nodes));
    if (this.slots.length < branches * 2) this.rehash(2 ** Math.ceil(Math.log2(branches * 2)));
  }

  /** The next child of the same parent, of each node; 0: it is the last one. */
  siblings(): Int32Array<ArrayBuffer> {
    const { parent, first, size } = this;
    const next = new Int32Array(size);
    for (let node = size - 1; node > 0; node--) {
      const eldest = first[parent[node]];
      if (node === eldest) continue;
      next[node] = next[eldest];
      next[eldest] = node;
    }
    return next;
  }

  private furtherChild(parent: number, frame: number): number {
    const mask = this.slots.length - 1;
    let slot = hash(parent, frame) & mask;
    for (let node = this.slots[slot]; node !== 0; node = this.slots[slot]) {
      if (this.parent[node] === parent && this.frame[node] === frame) return node;
      slot = (slot + 1) & mask;
    }
    const node = this.add(parent, frame);
    this.slots[slot] = node;
    if (++this.further * 2 > this.slots.length) this.rehash(this.slots.length * 4);
    return node;
  }

  private add(parent: number, frame: number): number {
    if (this.size === this.parent.length) this.grow(this.size * 2);
    const node = this.size++;
    this.parent[node] = parent;
    this.frame[node] = frame;
    return node;
  }

  private grow(length: number): void {
    if (this.size > MOST_NODES) throw new Error("too many different stacks for a browser: rperf-push report reads them");
    this.parent = grown(this.parent, length);
    this.frame = grown(this.frame, length);
    this.first = grown(this.first, length);
  }

  /** @param length a power of two */
  private rehash(length: number): void {
    this.slots = new Int32Array(length);
    const mask = this.slots.length - 1;
    for (let node = 1; node < this.size; node++) {
      const parent = this.parent[node];
      if (this.first[parent] === node) continue;
      let slot = hash(parent, this.frame[node]) & mask;
      while (this.slots[slot] !== 0) slot = (slot + 1) & mask;
      this.slots[slot] = node;
    }
  }
}

function grown(array: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(length);
  larger.set(array);
  return larger;
}

function hash(parent: number, frame: number): number {
  let mixed = Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame + 1, 0x85ebca6b);
  mixed ^= mixed >>> 15;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 13)) >>> 0;
}
