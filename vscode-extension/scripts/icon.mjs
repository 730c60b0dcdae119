// Draws media/icon.png: a line of code, a cursor, and the ghost of what comes next. Run it with Node.

import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { crc32, deflateSync } from 'node:zlib';

const SIZE = 256;
/** Samples along a pixel's edge, for smooth edges. */
const FINE = 4;

const BACK = [24, 30, 44];
/** [left, top, right, bottom, corner radius, colour], later ones on top. */
const SHAPES = [
  [0, 0, 256, 256, 52, BACK],
  [40, 76, 108, 96, 10, [120, 170, 255]],
  [40, 118, 132, 138, 10, [236, 240, 248]],
  [144, 104, 152, 152, 4, [255, 204, 92]],
  [164, 118, 216, 138, 10, [96, 110, 140]],
  [72, 160, 188, 180, 10, [96, 110, 140]],
];

/** Whether a point lies in a rectangle with round corners. */
function inside([left, top, right, bottom, radius], x, y) {
  const dx = Math.max(left + radius - x, x - (right - radius), 0);
  const dy = Math.max(top + radius - y, y - (bottom - radius), 0);
  return x >= left && x <= right && y >= top && y <= bottom && Math.hypot(dx, dy) <= radius;
}

/** Red, green, blue and opacity of a pixel. */
function pixel(column, row) {
  const sum = [0, 0, 0, 0];
  for (let i = 0; i < FINE * FINE; i++) {
    const x = column + ((i % FINE) + 0.5) / FINE;
    const y = row + (Math.floor(i / FINE) + 0.5) / FINE;
    const shape = SHAPES.findLast((each) => inside(each, x, y));
    if (shape !== undefined) {
      [...shape[5], 255].forEach((value, channel) => (sum[channel] += value));
    }
  }
  const covered = sum[3] / 255;
  const colour = covered === 0 ? [0, 0, 0] : sum.slice(0, 3).map((value) => Math.round(value / covered));
  return [...colour, Math.round(sum[3] / (FINE * FINE))];
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}

const rows = Array.from({ length: SIZE }, (_, row) => [
  0, // no filter
  ...Array.from({ length: SIZE }, (_, column) => pixel(column, row)).flat(),
]);
const header = Buffer.alloc(13);
header.writeUInt32BE(SIZE, 0);
header.writeUInt32BE(SIZE, 4);
header.set([8, 6, 0, 0, 0], 8); // 8 bits a channel, with opacity
const png = Buffer.concat([
  Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
  chunk('IHDR', header),
  chunk('IDAT', deflateSync(Buffer.from(rows.flat()), { level: 9 })),
  chunk('IEND', Buffer.alloc(0)),
]);
await writeFile(path.join(path.dirname(import.meta.dirname), 'media', 'icon.png'), png);
