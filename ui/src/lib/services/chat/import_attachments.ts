/** Attachments of imported files. The type of a blob decides what a browser does with it, so only harmless types are made. */
import type { Attachment } from '$lib/chat_types';
import { choiceOf, fieldsOf, lineOf, listOf, textOf } from './import_fields';

const IMAGES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const;
const SOUNDS = ['audio/wav', 'audio/mpeg', 'audio/mp4', 'audio/ogg', 'audio/webm', 'audio/flac'] as const;
const KINDS = ['image', 'audio', 'text', 'pdf'] as const;
const MAX_PAGES = 500;
const MAX_TEXT = 16_000_000;
const MAX_BASE64 = 96_000_000;

/** An attachment with a new id; undefined if the file has none that can be used. */
export function attachmentOf(value: unknown, id: string, conversation: string): Attachment | undefined {
	const fields = fieldsOf(value);
	if (!fields) return undefined;
	const kind = choiceOf(fields.kind, [...KINDS, 'none'], 'none');
	if (kind === 'none') return undefined;
	const content = contentOf(kind, fields.contentType, fields.content);
	if (!content) return undefined;
	return {
		id,
		conversation,
		name: lineOf(fields.name, 255).replace(/[\\/]/g, '_') || kind,
		type: kind === 'pdf' ? 'application/pdf' : content.type,
		kind,
		bytes: content.size,
		content,
		pages: listOf(fields.pages, MAX_PAGES).flatMap((page) => imageOf(fieldsOf(page)?.type, fieldsOf(page)?.base64) ?? []),
		text: textOf(fields.text, MAX_TEXT),
		fileId: null
	};
}

function contentOf(kind: Attachment['kind'], type: unknown, base64: unknown): Blob | undefined {
	if (kind === 'image') return imageOf(type, base64);
	const bytes = bytesOf(base64);
	if (!bytes) return undefined;
	if (kind === 'audio') {
		const sound = choiceOf(type, SOUNDS, SOUNDS[0]);
		return new Blob([bytes], { type: sound });
	}
	// the content of a document is its text, or the PDF itself
	const isPdf = kind === 'pdf' && type === 'application/pdf';
	return new Blob([bytes], { type: isPdf ? 'application/pdf' : 'text/plain' });
}

function imageOf(type: unknown, base64: unknown): Blob | undefined {
	const image = IMAGES.find((one) => one === type);
	const bytes = image === undefined ? undefined : bytesOf(base64);
	return bytes && image ? new Blob([bytes], { type: image }) : undefined;
}

function bytesOf(base64: unknown): Uint8Array<ArrayBuffer> | undefined {
	if (typeof base64 !== 'string' || base64.length > MAX_BASE64) return undefined;
	try {
		return Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
	} catch {
		return undefined;
	}
}
