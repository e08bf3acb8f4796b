import { describe, expect, test } from 'vitest';
import type { Attachment } from '../../src/lib/chat_types';
import { reasonAgainst, refusedAttachments } from '../../src/lib/services/attachments/gate';
import { declaredSize, fittedSize } from '../../src/lib/services/attachments/image_size';
import { kindOf } from '../../src/lib/services/attachments/kinds';
import { LIMITS } from '../../src/lib/services/attachments/limits';
import { inputOf } from '../../src/lib/services/chat/input';
import { newUserMessage } from '../../src/lib/services/chat/new_records';
import { partsOf, withinLimits, type InputPart } from '../../src/lib/services/attachments/parts';
import { joinPageText } from '../../src/lib/services/attachments/pdf_text';
import { cleanName, prepareAttachment } from '../../src/lib/services/attachments/prepare';
import { decodeText } from '../../src/lib/services/attachments/text';

const TEXT = ['text'];
const SEES = ['text', 'image'];

function attachment(changes: Partial<Attachment>): Attachment {
	const content = changes.content ?? new Blob(['hello'], { type: 'text/plain' });
	const base = { id: 'a', conversation: 'c', name: 'a.txt', type: 'text/plain', kind: 'text' as const, pages: [] };
	return { ...base, content, bytes: content.size, text: 'hello', fileId: null, ...changes };
}
const picture = attachment({ name: 'a.png', kind: 'image', content: new Blob(['x'], { type: 'image/png' }), text: '' });
const page = new Blob(['p'], { type: 'image/jpeg' });
const scan = attachment({ name: 'scan.pdf', kind: 'pdf', text: '', pages: [page] });

const bytes = (...values: (number | string)[]): Uint8Array =>
	new Uint8Array(values.flatMap((value) => (typeof value === 'string' ? [...new TextEncoder().encode(value)] : [value])));

describe('the kind of a file', () => {
	test.each([
		['image', bytes(0x89, 'PNG\r\n'), ''],
		['image', bytes('RIFF', 0, 0, 0, 0, 'WEBPVP8 '), 'text/plain'],
		['audio', bytes('RIFF', 0, 0, 0, 0, 'WAVEfmt '), ''],
		['pdf', bytes('%PDF-1.7'), 'image/png'],
		['text', bytes('<svg xmlns='), 'image/svg+xml'],
		['text', bytes('def main():'), ''],
		['text', bytes('{}'), 'application/json'],
		['image', bytes(0, 0, 0, 0x1c, 'ftypavif'), 'image/avif'],
		[null, bytes(0, 0, 0, 0x1c, 'ftypisom'), 'video/mp4']
	])('is %s by its first bytes, whatever its name says', (kind, head, type) => {
		expect(kindOf(head, type)).toBe(kind);
	});
});

describe('a text document', () => {
	test('is decoded as UTF-8, UTF-16 with its mark or Windows-1252', () => {
		expect(decodeText(bytes('\ufeffgrün'))).toBe('grün');
		expect(decodeText(bytes(0xff, 0xfe, 0x68, 0, 0x69, 0))).toBe('hi');
		expect(decodeText(bytes(0xfe, 0xff, 0, 0x68))).toBe('h');
		expect(decodeText(bytes('gr', 0xfc, 'n'))).toBe('grün');
	});
	test('is none with control characters of binary files, or beyond its limit', () => {
		expect(decodeText(bytes('ab', 0, 'c'))).toBeNull();
		expect(decodeText(bytes(0x7f, 'ELF', 2, 1))).toBeNull();
		expect(decodeText(bytes(0xff, 0xfe, 0x68))).toBeNull();
		expect(decodeText(new Uint8Array(2 * LIMITS.textBytes + 1))).toBeNull();
	});
	test('is attached with its text, and refused when it is empty, binary or too large', async () => {
		const made = await prepareAttachment(new File(['a,b\n1,2'], 'folder/t.csv', { type: 'text/csv' }));
		expect(made).toMatchObject({ name: 't.csv', kind: 'text', type: 'text/plain', text: 'a,b\n1,2', bytes: 7 });
		const refused = (content: BlobPart, type = ''): Promise<unknown> =>
			prepareAttachment(new File([content], 'x', { type })).catch((error: unknown) => error);
		expect(await refused('')).toMatchObject({ code: 'empty', file: 'x' });
		expect(await refused('\0\0')).toMatchObject({ code: 'unknownKind' });
		expect(await refused('x'.repeat(LIMITS.textBytes + 1))).toMatchObject({ code: 'tooLarge' });
		expect(await refused('x', 'video/mp4')).toMatchObject({ code: 'unknownKind' });
		expect(await refused('x', 'video/webm')).toMatchObject({ code: 'unknownKind' });
	});
});

test('a name loses folders, control and direction characters, and keeps its ending when it is cut', () => {
	expect(cleanName('C:\\x\\a\u202egpj.exe\n')).toBe('agpj.exe');
	expect(cleanName('../..')).toBe('..');
	expect(cleanName('\u200b')).toBe('file');
	expect(cleanName('x'.repeat(300) + '.pdf')).toMatch(/^x{115}….pdf$/);
});

describe('the size of a picture', () => {
	test('is read from its header before it is decoded', () => {
		const png = bytes(0x89, 'PNG\r\n\x1a\n', 0, 0, 0, 13, 'IHDR', 0, 1, 0, 0, 0, 0, 0, 2);
		expect(declaredSize(png)).toEqual({ width: 65536, height: 2 });
		expect(declaredSize(bytes('GIF89a', 3, 0, 4, 1))).toEqual({ width: 3, height: 260 });
		const jpeg = bytes(0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0, 0xff, 0xff, 0xc2, 0, 17, 8, 0, 9, 1, 0, 3);
		expect(declaredSize(jpeg)).toEqual({ width: 256, height: 9 });
		const webp = bytes('RIFF', 0, 0, 0, 0, 'WEBPVP8X', 10, 0, 0, 0, 0, 0, 0, 0, 99, 0, 0, 9, 0, 0, 0);
		expect(declaredSize(webp)).toEqual({ width: 100, height: 10 });
	});
	test('is unknown of broken files and of others', () => {
		expect(declaredSize(bytes(0x89, 'PNG'))).toBeNull();
		expect(declaredSize(bytes(0xff, 0xd8, 0xff, 0xe0, 0, 0, 0, 0))).toBeNull();
		expect(declaredSize(bytes(0xff, 0xd8, 0xff, 0xe0, 0, 90))).toBeNull();
		expect(declaredSize(bytes('<svg width="9">'))).toBeNull();
		expect(declaredSize(new Uint8Array())).toBeNull();
	});
	test('is fitted to its bound with the same proportions, and never grows', () => {
		expect(fittedSize({ width: 4000, height: 3000 }, 1600)).toEqual({ width: 1600, height: 1200 });
		expect(fittedSize({ width: 100, height: 50 }, 1600)).toEqual({ width: 100, height: 50 });
		expect(fittedSize({ width: 100_000, height: 1 }, 1600)).toEqual({ width: 1600, height: 1 });
	});
});

test('the text of a PDF page keeps its lines', () => {
	const pieces = [
		{ str: 'one ', hasEOL: false },
		{ str: 'line ', hasEOL: true },
		{ str: '\0two', hasEOL: true },
		{ str: '', hasEOL: true },
		{ str: '', hasEOL: true },
		{ str: 'three', hasEOL: false }
	];
	expect(joinPageText(pieces)).toBe('one line\ntwo\n\nthree');
});

describe('a recording', () => {
	test.each([
		['a.webm', 'audio/webm;codecs=opus', 'audio/webm'],
		['a.m4a', 'audio/mp4', 'audio/mp4']
	])('%s is attached as it is', async (name, type, kept) => {
		const made = await prepareAttachment(new File(['x'], name, { type }));
		expect(made).toMatchObject({ kind: 'audio', name, type: kept, bytes: 1 });
		expect(made.content.type).toBe(kept);
	});
	test('has its type by the ending of its name where the browser knows none', async () => {
		expect(await prepareAttachment(new File(['fLaC'], 'a.flac'))).toMatchObject({ kind: 'audio', type: 'audio/flac' });
	});
	test('is sent to a model that answers only as WAV or MP3', async () => {
		const recording = attachment({ kind: 'audio', type: 'audio/webm', name: 'r.webm' });
		expect(reasonAgainst(recording, ['text', 'audio'])).toBe('audioFormat');
		expect(reasonAgainst(recording, ['audio', 'media', 'platform'])).toBeNull();
		expect(reasonAgainst({ ...recording, type: 'audio/wav' }, ['text', 'audio', 'platform'])).toBe('noAudioThere');
		expect(await partsOf('', [recording], ['text', 'audio'])).toEqual([{ type: 'input_text', text: '[r.webm: not included]' }]);
	});
	test('is the only one of a message to a model that transcribes', () => {
		const recording = attachment({ kind: 'audio', type: 'audio/wav' });
		const codes = (...given: Attachment[]) => refusedAttachments(given, ['audio', 'media']).map(({ code }) => code);
		expect(codes(recording)).toEqual([]);
		expect(codes(recording, { ...recording, id: 'b' })).toEqual(['oneRecording']);
		expect(codes(attachment({}))).toEqual(['noDocuments']);
		expect(codes({ ...recording, bytes: LIMITS.mediaBytes + 1 })).toEqual(['mediaTooLarge']);
		expect(codes({ ...recording, bytes: LIMITS.messageBytes + 1 })).toEqual([]);
	});
});

describe('the gate', () => {
	test('refuses what a model cannot take, with the reason', () => {
		expect(reasonAgainst(picture, TEXT)).toBe('noImages');
		expect(reasonAgainst(picture, SEES)).toBeNull();
		expect(reasonAgainst(attachment({ kind: 'audio' }), SEES)).toBe('noAudio');
		expect(reasonAgainst(attachment({ kind: 'audio', type: 'audio/mpeg' }), ['text', 'audio'])).toBeNull();
		expect(reasonAgainst(scan, TEXT)).toBe('noText');
		expect(reasonAgainst(scan, SEES)).toBeNull();
		expect(reasonAgainst(attachment({ kind: 'pdf' }), TEXT)).toBeNull();
	});
	test('asks both models of a comparison, and bounds the message', () => {
		expect(refusedAttachments([picture, attachment({})], SEES, TEXT)).toEqual([
			{ id: 'a', name: 'a.png', code: 'noImages' }
		]);
		const many = Array.from({ length: LIMITS.files + 1 }, () => attachment({}));
		expect(refusedAttachments(many, TEXT)).toEqual([{ id: null, name: '', code: 'tooMany' }]);
		expect(refusedAttachments([attachment({ bytes: LIMITS.messageBytes + 1 })], TEXT)).toEqual([
			{ id: null, name: '', code: 'messageTooLarge' }
		]);
	});
});

describe('the parts of a message', () => {
	test('are its attachments and its text', async () => {
		const pdf = attachment({ name: 'b.pdf', kind: 'pdf', pages: [page] });
		expect(await partsOf('look', [picture, attachment({}), pdf], SEES)).toEqual([
			{ type: 'input_image', image_url: 'data:image/png;base64,eA==' },
			{ type: 'input_file', filename: 'a.txt', file_data: 'data:text/plain;base64,aGVsbG8=' },
			{ type: 'input_text', text: 'b.pdf' },
			{ type: 'input_image', image_url: 'data:image/jpeg;base64,cA==' },
			{ type: 'input_text', text: 'look' }
		]);
	});
	test('name what a model that was chosen later cannot take', async () => {
		const pdf = attachment({ name: 'b.pdf', kind: 'pdf', pages: [page] });
		expect(await partsOf('', [picture, scan, pdf, attachment({ name: 's.wav', kind: 'audio' })], TEXT)).toEqual([
			{ type: 'input_text', text: '[a.png: not included]' },
			{ type: 'input_text', text: '[scan.pdf: not included]' },
			{ type: 'input_file', filename: 'b.pdf', file_data: 'data:text/plain;base64,aGVsbG8=' },
			{ type: 'input_text', text: '[s.wav: not included]' }
		]);
	});
	test('of the last messages fit into a request first', () => {
		const image: InputPart = { type: 'input_image', image_url: 'x'.repeat(LIMITS.requestBytes / 2) };
		const text: InputPart = { type: 'input_text', text: 'hi' };
		const left: InputPart = { type: 'input_text', text: '[image: not included]' };
		expect(withinLimits([[image, text], [image], [text, image]])).toEqual([[left, text], [image], [text, image]]);
		const files = Array.from({ length: 17 }, (_, at): InputPart[] => [
			{ type: 'input_file', filename: `${at}.txt`, file_data: 'x' }
		]);
		const kept = withinLimits(files);
		expect(kept[0]).toEqual([{ type: 'input_text', text: '[0.txt: not included]' }]);
		expect(kept.slice(1)).toEqual(files.slice(1));
	});
	test('are the content of the message in a request', async () => {
		const messages = [newUserMessage('c', null, 'hi', []), newUserMessage('c', null, 'look', ['a'])];
		const files = new Map([['a', picture]]);
		expect(await inputOf(messages, files, SEES)).toEqual([
			{ role: 'user', content: 'hi' },
			{ role: 'user', content: await partsOf('look', [picture], SEES) }
		]);
		const line = { type: 'input_text', text: '[a.png: not included]' };
		expect((await inputOf(messages, files, TEXT))[1]).toEqual({ role: 'user', content: [line, { type: 'input_text', text: 'look' }] });
	});
});
