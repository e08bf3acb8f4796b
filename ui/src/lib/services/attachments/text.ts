import { LIMITS } from './limits';

/** The text of a document: UTF-8, UTF-16 with its mark, or Windows-1252; null for bytes that are no text, or too many. */
export function decodeText(bytes: Uint8Array): string | null {
	if (bytes.length > 2 * LIMITS.textBytes) return null;
	const text = decoded(bytes);
	// the control characters of binary files; tab, line feed, form feed and carriage return are of texts, escape of logs
	// eslint-disable-next-line no-control-regex
	return text === null || /[\0-\x08\x0e-\x1a\x1c-\x1f]/.test(text) ? null : text;
}

function decoded(bytes: Uint8Array): string | null {
	const [first, second] = bytes;
	try {
		if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le', { fatal: true }).decode(bytes);
		if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be', { fatal: true }).decode(bytes);
		return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
	} catch {
		return first === 0xff || first === 0xfe ? null : new TextDecoder('windows-1252').decode(bytes);
	}
}
