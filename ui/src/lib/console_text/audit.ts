/* Words of the audit log. */

export const audit = {
	title: 'Audit',
	records: 'Records of the audit chain',
	empty: 'No record fits.',
	actor: 'Actor',
	authority: 'Authority',
	action: 'Action',
	subject: 'Subject',
	outcome: 'Outcome',
	outcomes: {
		begun: 'begun',
		completed: 'completed',
		done: 'done',
		failed: 'failed',
		cancelled: 'cancelled',
		refused: 'refused'
	},
	since: 'From',
	until: 'Before',
	number: 'No.',
	time: 'Time',
	detail: 'Detail',
	partly: 'The search has not come to the end of the chain: go on with Older.',
	damaged: (numbers: string) => `Records that were changed, and cannot be read: ${numbers}. Verify the chain.`,
	download: 'Download',
	downloadHint: 'The records that fit, one per line, with the bytes of which the digests were computed.',
	downloading: (count: string) => `${count} records`,
	downloadStopped: 'The download was stopped.',
	verify: {
		title: 'Verify the chain',
		explain:
			'Each record of the chain on the platform is read, and its digest and its place are computed in this browser. ' +
			'The end has to be the one that the platform signs.',
		start: 'Verify',
		cancel: 'Cancel',
		cancelled: 'Cancelled. Nothing is known about the rest.',
		progress: 'Records verified',
		progressOf: (done: string, all: string) => `${done} of ${all} records`,
		whole: (first: number, last: number) => `Records ${first} to ${last} are one chain.`,
		empty: 'The chain has no records.',
		broken: (number: number, problem: string) => `The chain is broken at record ${number}: ${problem}`,
		digest: 'Digest of the signed record',
		signedAt: 'Signed',
		signedRecord: (number: number, at: string) => `record ${number}, ${at}`,
		key: 'Signed by the key',
		headSigned: (number: number, at: string) =>
			`The platform has signed this end, record ${number} (${at}), with the key below. Compare the time with now, and the key ` +
			'with the one that you noted earlier.',
		olderSigned: (number: number, at: string) => `What the platform has signed is an older end, record ${number} (${at}).`,
		headOfEmpty: (at: string) => `What the platform has signed (${at}) is that the chain has no records.`,
		notCovered: (first: number, last: number) =>
			first === last ? `Record ${first} is not covered by a signed head.` : `Records ${first} to ${last} are not covered by a signed head.`,
		headWrong: 'The signature of the end of the chain is not that of the key that it names.',
		headUnknown: 'The signature of the end was not verified: this browser does not know Ed25519.',
		headOf: (name: string) => `The head in ${name}:`,
		headFits: (number: number) =>
			number === 0 ? 'it is of a chain without records, and covers none of those here.' : `its record ${number} is in the chain.`,
		kept: 'Heads that you kept (optional)',
		keptHint: 'Files of `stoker audit head`: shows whether the chain was shortened or replaced since.',
		otherKey: (key: string) => `it is signed by another key than the chain now (${key}).`,
		noHead: 'it is not a signed head.',
		wrongSignature: 'its signature does not match its content.',
		saveHead: 'Save this head',
		insecure:
			'This page has no secure connection (https, or this machine itself), so the browser cannot compute digests. Use the command:',
		command: 'The command that verifies',
		copyCommand: 'Copy the command that verifies',
		problems: {
			notJson: 'it is not valid JSON',
			otherFields: 'it does not have the fields of a record',
			noForm: 'it has no canonical form',
			otherDigest: 'its digest does not match its content',
			otherBytes: 'its bytes are not the canonical form of its content',
			noNumber: 'its number is not an integer',
			tooLong: 'it is longer than any record',
			noBeginning: 'it is not the beginning of a chain',
			notFollowing: 'it does not follow the record before it: one of the two was replaced'
		},
		missing: (number: number, last: number) =>
			`it is missing${last > number ? `, and so are those to ${last}` : ''}`,
		outOfPlace: (number: number) => `record ${number} appears twice or is out of order`,
		heads: {
			shortened: (end: number, missing: number) =>
				`the chain was shortened: it ends with record ${end}, and ` +
				(missing === end + 1 ? `record ${missing} is missing` : `${end + 1} to ${missing} are missing`),
			older: (number: number, first: number) =>
				`it is of record ${number}, which is older than the first one here, ${first}: use the files of the host`,
			replaced: (number: number) => `record ${number} does not match the head: the chain was replaced`
		}
	}
};
