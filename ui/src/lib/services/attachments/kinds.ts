import type { Attachment } from '$lib/chat_types';

export type AttachmentKind = Attachment['kind'];

/** What the file chooser offers first; a person can still choose any file. */
export const ACCEPT = 'image/*,audio/*,application/pdf,text/*,.md,.csv,.json,.log,.py,.ts,.js,.yaml,.yml,.toml';

const STARTS: [AttachmentKind, ...number[]][] = [
	['pdf', 0x25, 0x50, 0x44, 0x46, 0x2d],
	['image', 0x89, 0x50, 0x4e, 0x47], // PNG
	['image', 0xff, 0xd8, 0xff], // JPEG
	['image', 0x47, 0x49, 0x46, 0x38], // GIF
	['audio', 0x49, 0x44, 0x33], // MP3 with tags
	['audio', 0xff, 0xfb],
	['audio', 0xff, 0xf3],
	['audio', 0x4f, 0x67, 0x67, 0x53], // Ogg
	['audio', 0x66, 0x4c, 0x61, 0x43] // FLAC
];

/**
 * What a file is, by its first bytes (16 are enough), then by the type that the browser gives it; null for a kind that
 * no model takes. A text is recognised by its whole content (`decodeText`): here it is what remains.
 */
export function kindOf(head: Uint8Array, type: string): AttachmentKind | null {
	for (const [kind, ...start] of STARTS) if (start.every((byte, at) => head[at] === byte)) return kind;
	const tag = String.fromCharCode(...head.subarray(0, 4), ...head.subarray(8, 12));
	if (tag === 'RIFFWEBP') return 'image';
	if (tag === 'RIFFWAVE') return 'audio';
	if (type === 'image/svg+xml' || type.startsWith('text/')) return 'text';
	if (type.startsWith('image/')) return 'image'; // the browser may know it: AVIF, BMP
	if (type.startsWith('audio/')) return 'audio'; // also M4A and WebM, whose first bytes are those of videos
	if (type.startsWith('video/') || type.startsWith('font/')) return null;
	return 'text';
}
