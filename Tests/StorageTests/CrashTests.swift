import Foundation
import Storage
import TestSupport
import Testing
import Workouts

@Suite struct CrashTests {
    @Test func `a process killed while committing loses no returned commit and leaves no partial one`()
        async throws
    {
        let folder = try TemporaryFolder()
        let path = folder.store
        let log = try folder.write("", to: "returned")
        var random = SeededRandom()
        var latest = 0
        for _ in 0..<8 {
            let delay = UInt32.random(in: 1_000...80_000, using: &random)
            let from = latest + 1
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, log = log as String, delay = delay as UInt32, from = from as Int] in
                try await commitUntilKilled(path, log, from: from, killedAfter: delay)
            }
            let open = try await OpenStore(path)
            let stored = try await open.all(.apples)
            // Earlier rounds count too. The last commit may be complete but not noted.
            let returned = max(latest, try lastReturned(log))
            latest = stored.values.map(number).max() ?? 0
            #expect((returned...returned + 1).contains(latest))
            #expect(stored.count == latest)
            #expect(try await open.all(.pears) == stored)
            #expect(try await open.all(.pears).keys.allSatisfy { $0.key.hasPrefix("commit ") })
        }
        #expect(latest > 0)
    }

    @Test func `a process killed while it appends and trims loses no returned item and repeats none`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.store
        let log = try folder.write("", to: "returned")
        var random = SeededRandom()
        var latest = 0
        for _ in 0..<8 {
            let delay = UInt32.random(in: 1_000...120_000, using: &random)
            let seed = UInt64.random(in: 0...UInt64.max, using: &random)
            let from = latest + 1
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [
                    path = path as String, log = log as String, delay = delay as UInt32, from = from as Int,
                    seed = seed as UInt64
                ] in
                try await appendUntilKilled(path, log, from: from, killedAfter: delay, SeededRandom(seed: seed))
            }
            let open = try await OpenStore(path, schema: .journaled)
            let chunk = number(try await open.all()[StoreKey(shard: Shard(7), key: "chunk")] ?? [])
            let tail = try await open.journal()
            #expect(tail.skipped == 0)
            let returned = max(latest, try lastReturned(log))
            latest = max(chunk, tail.entries.map(\.first).max() ?? 0)
            #expect((returned...returned + 1).contains(latest))
            // A process that ended before its first trim leaves the records of the one before.
            for shard in [Shard(7), Shard(9)] {
                let entries = tail.entries.filter { $0.shard == shard }
                #expect(entries.map(\.first) == Array(latest + 1 - entries.count..<latest + 1))
                #expect(entries.count >= latest - chunk)
                #expect(entries.allSatisfy { number($0.items.prefix(3)) == $0.first })
            }
        }
        #expect(latest > 0)
    }
}

/// The last commit that returned, as the process noted it.
private func lastReturned(_ log: String) throws -> Int {
    try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").last.flatMap { Int($0) } ?? 0
}

private func bytes(_ number: Int) -> [UInt8] {
    [UInt8(number >> 16 & 255), UInt8(number >> 8 & 255), UInt8(number & 255)]
}

private func number(_ bytes: some Sequence<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

/// Appends numbered items of two shards, now and then with a chunk of what came before and its trim, until the process kills
/// itself.
private func appendUntilKilled(
    _ path: String, _ log: String, from: Int, killedAfter microseconds: UInt32, _ seeded: SeededRandom
) async throws {
    var random = seeded
    let open = try await OpenStore(path, schema: .journaled, erasureInterval: .milliseconds(5))
    killSelf(after: microseconds)
    let descriptor = Foundation.open(log, O_WRONLY | O_APPEND)
    // A gain puts all into the chunk.
    try await open.trim(open.everything(of: open.shards), [open.put("chunk", bytes(from - 1))])
    var last: (number: Int, sequence: Int64) = (from - 1, 0)
    for number in from... {
        let items = bytes(number) + [UInt8](repeating: 7, count: Int.random(in: 0...20_000, using: &random))
        var writes = [open.append("a/1/w", number, items), open.append("b/1/w", number, items, shard: Shard(9))]
        var trim: JournalTrim?
        if Int.random(in: 0..<3, using: &random) == 0 {
            writes.append(open.put("chunk", bytes(last.number)))
            trim = Bool.random(using: &random) ? .own(through: last.sequence) : open.everything(of: open.shards)
        }
        let report = try await open.store.commit(writes, trim: trim, mayUseReserve: false)
        last = (number, report.journaled?.sequence ?? 0)
        let line = Array("\(number)\n".utf8)
        write(descriptor, line, line.count)
    }
}

/// Ends the process from a separate thread, so that the signal may interrupt a commit anywhere.
private func killSelf(after microseconds: UInt32) {
    Thread.detachNewThread {
        usleep(microseconds)
        kill(getpid(), SIGKILL)
    }
}

/// Makes numbered commits of two records, and notes each returned one, until the process kills itself.
private func commitUntilKilled(_ path: String, _ log: String, from: Int, killedAfter microseconds: UInt32) async throws
{
    let open = try await OpenStore(path)
    let descriptor = Foundation.open(log, O_WRONLY | O_APPEND)
    killSelf(after: microseconds)
    for number in from... {
        let bytes = bytes(number)
        let key = "commit \(number)"
        _ = try await open.store.commit([
            open.put(key, bytes, in: .apples), open.put(key, bytes, in: .pears),
        ])
        let line = Array("\(number)\n".utf8)
        write(descriptor, line, line.count)
    }
}
