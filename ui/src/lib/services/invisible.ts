/**
 * Characters that a person does not see, or that change the order of what is seen: they can hide an instruction, or
 * show another text than the one that runs ("Trojan Source", CVE-2021-42574; tag characters, CVE-2024-5184 and others).
 */

/** A part of a text: as it is, or one hidden character by its code point (`U+202E`). */
export type Piece = { text: string } | { mark: string };

/** Control characters except tab, newline and carriage return. */
const CONTROLS = '\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f';
/** Tag characters, and the supplement of variation selectors: both can carry a hidden text. */
const TAGS = '\\u{e0000}-\\u{e007f}';
const SELECTORS = '[\\u{e0100}-\\u{e01ef}]';
const FORMATS =
	'\\u00ad\\u061c\\u115f\\u1160\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb';

/** In code and data each of them is suspicious. A joiner inside an emoji or between letters that join is not. */
const IN_CODE = new RegExp(
	`(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\ufe0f])\\u200d(?=\\p{Extended_Pictographic})` +
		`|(?<=[\\p{Script=Arabic}\\p{M}])[\\u200c\\u200d]` +
		`|([${CONTROLS}${FORMATS}${TAGS}]|\\u034f|\\u17b4|\\u17b5|${SELECTORS})`,
	'gu'
);

/** In prose, marks of direction are a part of right-to-left texts; overrides and hidden texts are of none. */
const IN_PROSE = new RegExp(
	`\\u{1f3f4}[\\u{e0020}-\\u{e007e}]{1,6}\\u{e007f}` +
		`|(?<=\\p{Script=Han})${SELECTORS}(?!${SELECTORS})` +
		`|([${CONTROLS}\\u202d\\u202e${TAGS}]|${SELECTORS})`,
	'gu'
);

/** The text in pieces, its hidden characters apart. Most texts are one piece. */
export function revealed(text: string, where: 'code' | 'prose' = 'code'): Piece[] {
	const pieces: Piece[] = [];
	let end = 0;
	for (const found of text.matchAll(where === 'code' ? IN_CODE : IN_PROSE)) {
		const hidden = found[1];
		if (hidden === undefined) continue; // one that belongs there
		if (found.index > end) pieces.push({ text: text.slice(end, found.index) });
		pieces.push({ mark: codePoint(hidden) });
		end = found.index + hidden.length;
	}
	if (end < text.length || pieces.length === 0) pieces.push({ text: text.slice(end) });
	return pieces;
}

function codePoint(character: string): string {
	return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
