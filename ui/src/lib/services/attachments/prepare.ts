import type { Attachment } from '$lib/chat_types';
import { newId } from '$lib/services/chat/new_records';
import { shrinkImage } from './image';
import { kindOf } from './kinds';
import { AttachmentProblem, LIMITS } from './limits';
import { decodeText } from './text';

/**
 * Make an attachment of a file: shrink a picture, read the text of a document. `pictures` says whether a PDF is wanted
 * as pictures of its pages. It belongs to no conversation yet. Raises `AttachmentProblem`.
 */
export async function prepareAttachment(
	file: File,
	pictures: 'scanned' | 'always' = 'scanned'
): Promise<Attachment> {
	const name = cleanName(file.name);
	if (file.size === 0) throw new AttachmentProblem('empty', name);
	if (file.size > LIMITS.fileBytes) throw new AttachmentProblem('tooLarge', name);
	const kind = kindOf(new Uint8Array(await file.slice(0, 16).arrayBuffer()), file.type);
	const base = { id: newId(), conversation: '', name, pages: [], text: '', fileId: null };
	switch (kind) {
		case 'image': {
			const content = await shrinkImage(file, name);
			return { ...base, kind, type: content.type, content, bytes: content.size };
		}
		case 'audio':
			if (file.size > LIMITS.mediaBytes) throw new AttachmentProblem('tooLarge', name);
			return { ...base, kind, ...recording(file, name) };
		case 'pdf': {
			const { readPdf } = await import('./pdf').catch(() => Promise.reject(new AttachmentProblem('noReader', name)));
			const { text, pages } = await readPdf(file, name, pictures);
			if (text === '' && pages.length === 0) throw new AttachmentProblem('unreadable', name);
			return { ...base, kind, type: 'application/pdf', pages, ...document(text, pages) };
		}
		case 'text': {
			if (file.size > 2 * LIMITS.textBytes) throw new AttachmentProblem('tooLarge', name);
			const text = decodeText(new Uint8Array(await file.arrayBuffer()));
			if (text === null) throw new AttachmentProblem('unknownKind', name);
			const made = document(text, []);
			if (made.content.size > LIMITS.textBytes) throw new AttachmentProblem('tooLarge', name);
			return { ...base, kind, type: 'text/plain', ...made };
		}
		case null:
			throw new AttachmentProblem('unknownKind', name);
	}
}

/** The types of audio by the endings of names, for files of which the browser knows no type. */
const AUDIO_TYPES: Record<string, string> = {
	wav: 'audio/wav',
	mp3: 'audio/mpeg',
	m4a: 'audio/mp4',
	mp4: 'audio/mp4',
	ogg: 'audio/ogg',
	opus: 'audio/ogg',
	flac: 'audio/flac',
	webm: 'audio/webm'
};

function recording(file: File, name: string): Pick<Attachment, 'content' | 'type' | 'bytes'> {
	const given = file.type.split(';')[0] ?? '';
	const type = given.startsWith('audio/') ? given : (AUDIO_TYPES[name.split('.').at(-1)?.toLowerCase() ?? ''] ?? 'audio/wav');
	return { type, content: new Blob([file], { type }), bytes: file.size };
}

function document(text: string, pages: Blob[]): Pick<Attachment, 'content' | 'text' | 'bytes'> {
	const content = new Blob([text], { type: 'text/plain' });
	// what is sent counts: the pictures of pages, else the text
	const bytes = pages.length > 0 ? pages.reduce((sum, page) => sum + page.size, 0) : content.size;
	return { content, text, bytes };
}

/** A long text that was pasted, as a document. */
export function textFile(text: string, name: string): File {
	return new File([text], name, { type: 'text/plain' });
}

/** The name of a file without what would mislead a reader or a model: folders, control and direction characters. */
export function cleanName(name: string): string {
	const base = name.split(/[/\\]/).at(-1) ?? '';
	const clean = base.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').trim();
	if (clean.length <= 120) return clean || 'file';
	const ending = /\.[^.]{1,10}$/.exec(clean)?.[0] ?? '';
	return clean.slice(0, 119 - ending.length) + '…' + ending;
}
