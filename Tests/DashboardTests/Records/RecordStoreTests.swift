import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import Dashboard

struct RecordStoreTests {
    private let log = LogRecorder()

    private func run(_ body: (RecordStore, MemoryStore, ManualClock) async throws -> Void) async throws {
        let (memory, clock) = (MemoryStore.owningAll(), ManualClock())
        let records = RecordStore(store: memory, clock: clock, logger: log.logger)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await records.run() }
            for await change in memory.ownership {
                if case .gained(let epochs) = change { records.own(epochs) }
                break
            }
            try await body(records, memory, clock)
            tasks.cancelAll()
        }
    }

    @Test func `changes are on disk when the wait for them ends, the newest of each record`() async throws {
        try await run { records, memory, _ in
            records.enqueue([.put(.logins, "a", 1), .put(.logins, "b", 1)])
            records.enqueue([.put(.logins, "a", 2), .delete(.logins, "b")])
            try await records.committed()
            let stored = try await records.values(Int.self, in: .logins)
            #expect(stored.map(\.key) == ["a"])
            #expect(stored.map(\.value) == [2])
            _ = memory
        }
    }

    @Test func `a failed commit is reported, and its changes follow with the next one`() async throws {
        try await run { records, memory, clock in
            memory.refuse()
            records.enqueue([.put(.logins, "a", 1), .put(.logins, "b", 1)])
            await #expect(throws: StoreError.self) { try await records.committed() }
            records.enqueue([.delete(.logins, "a")])
            memory.accept()
            clock.advance(by: .seconds(1))
            records.tick(clock.moment)
            try await records.committed()
            #expect(try await records.values(Int.self, in: .logins).map(\.key) == ["b"])
        }
    }

    @Test func `a wait after a failed commit tries again without a tick`() async throws {
        try await run { records, memory, _ in
            memory.refuse()
            records.enqueue([.put(.logins, "a", 1)])
            await #expect(throws: StoreError.self) { try await records.committed() }
            await #expect(throws: StoreError.self) { try await records.committed() }
            memory.accept()
            try await records.committed()
            #expect(try await records.values(Int.self, in: .logins).map(\.key) == ["a"])
        }
    }

    @Test func `changes of a process without the shard are void, also those that could not be written`() async throws {
        try await run { records, memory, clock in
            memory.refuse()
            records.enqueue([.put(.logins, "a", 1)])
            await #expect(throws: StoreError.self) { try await records.committed() }
            records.disown()
            memory.accept()
            records.enqueue([.put(.logins, "b", 1)])
            await #expect(throws: StoreError.self) { try await records.committed() }
            guard case .gained(let epochs) = memory.gain(Set(Shard.all)) else { return }
            records.own(epochs)
            clock.advance(by: .seconds(1))
            records.tick(clock.moment)
            records.enqueue([.put(.logins, "c", 1)])
            try await records.committed()
            #expect(try await records.values(Int.self, in: .logins).map(\.key) == ["c"])
        }
    }

    @Test func `a record that cannot be read is logged and left out`() async throws {
        try await run { records, _, _ in
            records.enqueue([.put(.logins, "a", "text"), .put(.logins, "b", 1)])
            try await records.committed()
            #expect(try await records.values(Int.self, in: .logins).map(\.key) == ["b"])
            #expect(log.lines.filter { $0.hasPrefix("error stored record unreadable, dropped") }.count == 1)
        }
    }
}
