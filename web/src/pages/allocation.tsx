// SPDX-License-Identifier: MIT
// allocation: the life of one block: when and where it was allocated and freed, what realloc made of it, what else was at its address.

import { toView, valueOf, type Address } from "../address";
import { useSql, type Recording, type Row } from "../api";
import type { PageProps } from "../app";
import { ArgumentForm } from "../argument";
import { makeCell } from "../cell_menu";
import { formatAddress, formatBytes, formatCell, formatCount, formatDuration } from "../format";
import { formatInstant } from "../instants";
import { Link } from "../link";
import { Notice } from "../notice";
import { Stack } from "../stack";
import { Table } from "../table";

const MAX_ROWS = 200;

function Life({ block, recording }: { block: Row; recording: Recording }) {
  const whole = Math.max(1, Number(recording.duration_ns ?? 1));
  const allocated = Number(block.alloc_ns);
  const freed = block.free_ns === null ? whole : Number(block.free_ns);
  return (
    <div class="life" role="img" aria-label={`alive from ${formatInstant(allocated)} to ${block.free_ns === null ? "the end" : formatInstant(freed)}`}>
      <div style={{ left: `${(allocated / whole) * 100}%`, width: `${Math.max(0.3, ((freed - allocated) / whole) * 100)}%` }} />
    </div>
  );
}

const ENDS: Record<string, string> = { free: "freed", realloc: "ended by realloc, which made another block of it", unseen: "ended unseen: its address was given out again", exec: "lost when the process ran another program" };

function Sentence({ block }: { block: Row }) {
  const size = formatBytes(Number(block.size_bytes));
  const usable = block.usable_bytes === null ? "" : ` (${formatBytes(Number(block.usable_bytes))} usable)`;
  const end = block.free_ns === null ? "never freed" : `${ENDS[String(block.ended_by)] ?? "ended"} at ${formatInstant(Number(block.free_ns))} after ${formatDuration(Number(block.lifetime_ns))}`;
  const thread = block.free_thread_id !== null && block.free_thread_id !== block.thread_id ? ` by thread ${block.free_thread_id}` : "";
  return (
    <p>
      {size}
      {usable} at {block.address === null ? "an address that is not recorded" : formatAddress(Number(block.address))}, by {block.kind} in thread {block.thread_id} at {formatInstant(Number(block.alloc_ns))}; {end}
      {thread}.{" "}
      {block.intervening_allocations !== null && `Its thread made ${formatCount(Number(block.intervening_allocations))} other allocations before.`}
    </p>
  );
}

function Others({ title, statement, address, empty }: { title: string; statement: string; address: Address; empty: string }) {
  const answer = useSql(address.recording, statement);
  const rows = answer.data ?? [];
  return (
    <section>
      <h2>{title}</h2>
      {rows.length > 0 ? <Table rows={rows} columns={Object.keys(rows[0] as Row)} caption={title} cell={makeCell(address)} /> : <Notice answer={answer} empty={empty} />}
    </section>
  );
}

const COLUMNS = "a.allocation_id, a.alloc_ns, a.lifetime_ns, a.size_bytes, a.address, a.kind, a.ended_by, a.backtrace_id";

function Block({ block, address, recording }: { block: Row; address: Address; recording: Recording }) {
  const [at, chain] = [Number(block.address ?? 0), Number(block.chain_id ?? 0)];
  return (
    <>
      <Sentence block={block} />
      <Life block={block} recording={recording} />
      <div class="two-columns">
        <section>
          <h2>Allocated in</h2>
          <Stack id={Number(block.backtrace_id)} />
          <Link to={toView(address, "allocations", { backtrace: String(block.backtrace_id) })}>all blocks of this stack</Link>
        </section>
        <section>
          <h2>Ended in</h2>
          {block.free_backtrace_id === null ? <p class="hint">{block.free_ns === null ? "Never." : "Not recorded."}</p> : <Stack id={Number(block.free_backtrace_id)} />}
        </section>
      </div>
      {chain > 0 && (
        <Others
          title="Its realloc chain"
          address={address}
          empty="none"
          statement={`SELECT a.chain_position, ${COLUMNS} FROM realloc_chains AS c CROSS JOIN allocations AS a ON a.allocation_id BETWEEN c.chain_id AND c.last_allocation_id AND a.chain_id = c.chain_id WHERE c.chain_id = ${chain} ORDER BY a.allocation_id LIMIT ${MAX_ROWS}`}
        />
      )}
      {at > 0 && (
        <Others
          title="Everything else that covered this address"
          address={address}
          empty="nothing else"
          statement={`SELECT ${COLUMNS} FROM allocations AS a WHERE a.address <= ${at} AND a.address + max(a.size_bytes, 1) > ${at} AND a.allocation_id <> ${block.allocation_id} ORDER BY a.allocation_id LIMIT ${MAX_ROWS}`}
        />
      )}
    </>
  );
}

export function Allocation({ address, recording }: PageProps) {
  const id = Number(valueOf(address, "argument"));
  const isKnown = Number.isInteger(id) && id > 0;
  const answer = useSql(address.recording, isKnown ? `SELECT * FROM allocations WHERE allocation_id = ${id}` : null);
  const block = answer.data?.[0];
  return (
    <>
      <ArgumentForm address={address} label="block number" />
      {block && !answer.isLoading ? (
        <Block block={block} address={address} recording={recording} />
      ) : (
        <Notice answer={answer} empty={isKnown ? `there is no block ${formatCell("allocation_id", id)}` : "Blocks have the numbers that the view allocations shows, in the order of their birth."} />
      )}
    </>
  );
}
