// png_colours.mjs FILE: prints "WIDTH HEIGHT COLOURS" of a PNG of 8 bits RGB or RGBA, by the PNG specification.
import { readFileSync } from 'node:fs';
import { inflateSync } from 'node:zlib';

const bytes = readFileSync(process.argv[2]);
if (bytes.toString('latin1', 1, 4) !== 'PNG') throw new Error('not a PNG');
let width, height, channels;
const parts = [];
for (let at = 8; at < bytes.length; ) {
  const length = bytes.readUInt32BE(at);
  const type = bytes.toString('latin1', at + 4, at + 8);
  const data = bytes.subarray(at + 8, at + 8 + length);
  if (type === 'IHDR') {
    width = data.readUInt32BE(0);
    height = data.readUInt32BE(4);
    channels = { 2: 3, 6: 4 }[data[9]];
    if (data[8] !== 8 || channels === undefined || data[12] !== 0) throw new Error('not 8 bits RGB or RGBA');
  } else if (type === 'IDAT') {
    parts.push(data);
  }
  at += 12 + length;
}
const raw = inflateSync(Buffer.concat(parts));
const stride = width * channels;
let before = new Uint8Array(stride);
const colours = new Set();
for (let y = 0; y < height; y++) {
  const filter = raw[y * (stride + 1)];
  const line = Uint8Array.from(raw.subarray(y * (stride + 1) + 1, (y + 1) * (stride + 1)));
  for (let x = 0; x < stride; x++) {
    const left = x >= channels ? line[x - channels] : 0;
    const up = before[x];
    const corner = x >= channels ? before[x - channels] : 0;
    const guess = left + up - corner;
    const [a, b, c] = [left, up, corner].map((value) => Math.abs(guess - value));
    const paeth = a <= b && a <= c ? left : b <= c ? up : corner;
    line[x] += [0, left, up, (left + up) >> 1, paeth][filter];
  }
  for (let x = 0; x < stride; x += channels) colours.add((line[x] << 16) | (line[x + 1] << 8) | line[x + 2]);
  before = line;
}
console.log(width, height, colours.size);
