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
            let returned = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").compactMap {
                Int($0)
            }
            let open = try await OpenStore(path)
            let stored = try await open.all(.apples)
            // Earlier rounds count too. The last commit may be complete but not noted.
            let lastReturned = max(latest, returned.last ?? 0)
            latest = stored.values.map { $0.reduce(0) { $0 << 8 | Int($1) } }.max() ?? 0
            #expect((lastReturned...lastReturned + 1).contains(latest))
            #expect(stored.count == latest)
            #expect(try await open.all(.pears) == stored)
            #expect(try await open.all(.pears).keys.allSatisfy { $0.key.hasPrefix("commit ") })
        }
        #expect(latest > 0)
    }
}

/// Makes numbered commits of two records, and notes each returned one, until the process kills itself.
private func commitUntilKilled(_ path: String, _ log: String, from: Int, killedAfter microseconds: UInt32) async throws
{
    let open = try await OpenStore(path)
    let descriptor = Foundation.open(log, O_WRONLY | O_APPEND)
    // A separate thread, so that the signal may interrupt a commit anywhere.
    Thread.detachNewThread {
        usleep(microseconds)
        kill(getpid(), SIGKILL)
    }
    for number in from... {
        let bytes = [UInt8(number >> 16 & 255), UInt8(number >> 8 & 255), UInt8(number & 255)]
        let key = "commit \(number)"
        _ = try await open.store.commit([
            open.put(key, bytes, in: .apples), open.put(key, bytes, in: .pears),
        ])
        let line = Array("\(number)\n".utf8)
        write(descriptor, line, line.count)
    }
}
