/** A piece of text of a PDF page, as pdf.js gives it. */
export interface TextPiece {
	str: string;
	hasEOL: boolean;
}

/** The text of a page: its pieces in their order, with the ends of lines, without the empty space around. */
export function joinPageText(pieces: TextPiece[]): string {
	return pieces
		.map(({ str, hasEOL }) => (hasEOL ? `${str}\n` : str))
		.join('')
		.replaceAll('\0', '')
		.replace(/[ \t]+\n/g, '\n')
		.replace(/\n{3,}/g, '\n\n')
		.trim();
}
