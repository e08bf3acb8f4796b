/** What a Markdown text becomes: a tree of plain values, which the components show. None of it is HTML. */

export type Inline =
	| { type: 'text'; text: string }
	/** A character that a person would not see, by its code point (`U+202E`). */
	| { type: 'mark'; mark: string }
	| { type: 'code'; text: string }
	| { type: 'strong'; children: Inline[] }
	| { type: 'emphasis'; children: Inline[] }
	| { type: 'deleted'; children: Inline[] }
	/** A link that was checked (`safeLink`). `host` is null where its words name it. An image of elsewhere is a link. */
	| { type: 'link'; href: string; host: string | null; isImage: boolean; children: Inline[] }
	/** A picture whose bytes are in its address. */
	| { type: 'image'; source: string; description: string }
	| { type: 'math'; tex: string; isBlock: boolean }
	| { type: 'note'; label: string }
	| { type: 'break' };

export type Alignment = 'left' | 'center' | 'right' | null;

export interface ListItem {
	/** Of a task: whether it is done; null if it is none. */
	isDone: boolean | null;
	blocks: Block[];
}

export type Block =
	| { type: 'paragraph'; children: Inline[] }
	| { type: 'heading'; level: number; children: Inline[] }
	/** `isOpen`: its end has not come yet. */
	| { type: 'code'; language: string; text: string; isOpen: boolean }
	| { type: 'quote'; blocks: Block[] }
	| { type: 'list'; isOrdered: boolean; start: number; items: ListItem[] }
	| { type: 'table'; alignments: Alignment[]; header: Inline[][]; rows: Inline[][][] }
	| { type: 'math'; tex: string }
	/** A footnote. */
	| { type: 'note'; label: string; children: Inline[] }
	/** Text that is shown as it is written: raw HTML, a formula without its end, what is nested too deeply. */
	| { type: 'plain'; text: string }
	| { type: 'rule' };
