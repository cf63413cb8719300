/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An MP4 of HEVC or AV1 with AAC as an FLV of Enhanced RTMP, which FFmpeg 5 does not write: enhanced-flv.mjs FROM.mp4 TO.flv.
 * Packets are where ffprobe finds them.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const [from, to] = process.argv.slice(2), DATA = 18, VIDEO = 9, AUDIO = 8;
const bytes = readFileSync(from);
const { streams, packets } = JSON.parse(execFileSync('ffprobe', ['-v', 'error', '-show_streams', '-show_packets', '-show_data', '-of', 'json', from],
	{ maxBuffer: 1 << 28 }));
const video = streams.find(s => s.codec_type === 'video'), audio = streams.find(s => s.codec_type === 'audio');
const letters = Buffer.from({ hevc: 'hvc1', av1: 'av01' }[video.codec_name]), ms = seconds => Math.round(seconds * 1000);

/* "00000000: 0101 6000 …  ..`.": as ffprobe shows bytes. */
const setup = stream => Buffer.from(stream.extradata.split('\n').map(line => line.slice(10, 50).replaceAll(' ', '')).join(''), 'hex');
function tag(kind, at, ...parts) {
	const body = Buffer.concat(parts), head = Buffer.alloc(11), tail = Buffer.alloc(4);
	head[0] = kind;
	head.writeUIntBE(body.length, 1, 3);
	head.writeUIntBE(at & 0xffffff, 4, 3);
	head[7] = at >>> 24;
	tail.writeUInt32BE(11 + body.length);
	return Buffer.concat([head, body, tail]);
}
function picture(packet) {
	const key = packet.flags.startsWith('K'), shift = Buffer.alloc(3);
	shift.writeIntBE(ms(packet.pts_time) - ms(packet.dts_time), 0, 3);
	return [Buffer.of((key ? 0x90 : 0xa0) | 1), letters, video.codec_name === 'hevc' ? shift : Buffer.alloc(0)];
}

/* onMetaData with both codecs. */
const names = ['audiocodecid', 'videocodecid'].map(name => Buffer.concat([Buffer.of(0, name.length), Buffer.from(name), Buffer.alloc(9)]));
const metadata = Buffer.concat([Buffer.of(2, 0, 10), Buffer.from('onMetaData'), Buffer.of(8, 0, 0, 0, 2), ...names, Buffer.of(0, 0, 9)]);
const first = Math.min(...packets.map(p => ms(p.dts_time)));
packets.sort((a, b) => a.dts_time - b.dts_time);
writeFileSync(to, Buffer.concat([Buffer.from('FLV\x01\x05\0\0\0\x09\0\0\0\0', 'latin1'), tag(DATA, 0, metadata),
	tag(VIDEO, 0, Buffer.of(0x90), letters, setup(video)), tag(AUDIO, 0, Buffer.of(0xaf, 0), setup(audio)),
	...packets.map(packet => {
		const body = bytes.subarray(+packet.pos, +packet.pos + +packet.size), at = ms(packet.dts_time) - first;
		return packet.codec_type === 'video' ? tag(VIDEO, at, ...picture(packet), body) : tag(AUDIO, at, Buffer.of(0xaf, 1), body);
	})]));
