import { GENESIS, parseRecord, type AuditRecord, type Damage } from '$lib/services/audit_record';

/** What is wrong at a record. `number` is that of the record where it should be. */
export interface Finding {
	number: number;
	problem:
		| Damage
		| 'noBeginning'
		| 'notFollowing'
		| { kind: 'missing'; last: number } // the records up to `last` are missing
		| { kind: 'outOfPlace'; number: number };
}

/** The end of a record that was checked. */
interface Link {
	number: number;
	digest: string;
}

/** Checks lines record by record, and remembers the ends of the chain only. */
export class ChainCheck {
	first: Link | undefined;
	last: Link | undefined;
	finding: Finding | undefined;
	/** The digests of the numbers that were asked for. */
	readonly digests = new Map<number, string>();
	readonly #wanted: Set<number>;

	/** `wanted`: the numbers whose digests the caller needs. */
	constructor(wanted: Iterable<number> = []) {
		this.#wanted = new Set(wanted);
	}

	/** Keep the digest of this record, too: of the last one, or of one that comes. */
	want(number: number): void {
		this.#wanted.add(number);
		if (this.last?.number === number) this.digests.set(number, this.last.digest);
	}

	/** Check the next lines. Returns false after the first finding. */
	async check(lines: readonly Uint8Array[]): Promise<boolean> {
		const records = await Promise.all(lines.map(parseRecord));
		for (const record of records) {
			this.finding = findingAt(record, this.last);
			if (this.finding || typeof record === 'string') return false;
			this.last = { number: record.number, digest: record.digest };
			this.first ??= this.last;
			if (this.#wanted.has(record.number)) this.digests.set(record.number, record.digest);
		}
		return true;
	}
}

function findingAt(record: AuditRecord | Damage, last: Link | undefined): Finding | undefined {
	const number = last ? last.number + 1 : 1;
	if (typeof record === 'string') return { number, problem: record };
	if (last === undefined) {
		const begins = record.number >= 1 && (record.number === 1) === (record.previous === GENESIS);
		return begins ? undefined : { number: record.number, problem: 'noBeginning' };
	}
	if (record.number > number) return { number, problem: { kind: 'missing', last: record.number - 1 } };
	if (record.number < number) return { number, problem: { kind: 'outOfPlace', number: record.number } };
	return record.previous === last.digest ? undefined : { number, problem: 'notFollowing' };
}

/** Splits bytes into lines, wherever the pieces end. */
export class LineSplitter {
	#rest: Uint8Array = new Uint8Array();

	/** The lines that end in this piece, without their ends. `mostBytes`: a line may be longer, by a piece at most. */
	push(piece: Uint8Array, mostBytes: number): Uint8Array[] {
		const lines: Uint8Array[] = [];
		let begin = 0;
		for (let end = piece.indexOf(0x0a); end >= 0; end = piece.indexOf(0x0a, begin)) {
			lines.push(this.#withRest(piece.subarray(begin, end)));
			begin = end + 1;
		}
		this.#rest = this.#withRest(piece.slice(begin));
		if (this.#rest.length > mostBytes) {
			lines.push(this.#rest);
			this.#rest = new Uint8Array();
		}
		return lines;
	}

	/** What is left at the end of the bytes, if they do not end with a line's end. */
	end(): Uint8Array[] {
		return this.#rest.length > 0 ? [this.#rest] : [];
	}

	#withRest(piece: Uint8Array): Uint8Array {
		if (this.#rest.length === 0) return piece;
		const joined = new Uint8Array(this.#rest.length + piece.length);
		joined.set(this.#rest);
		joined.set(piece, this.#rest.length);
		this.#rest = new Uint8Array();
		return joined;
	}
}
