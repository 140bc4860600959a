import Bus
import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

/// The two replicas of a service that `compose/up` runs, as their presence shows them.
struct ReplicaPair {
    private let service: String
    private let system: ComposeSystem
    private let observer: BusObserver
    private let names: [String]
    /// By the names of replicas.
    private var instances: [String: ProcessName] = [:]
    private var killed: String?
    private var frozen: (name: String, id: Int32)?

    init(_ service: String, _ system: ComposeSystem, _ observer: BusObserver) throws {
        (self.service, self.system, self.observer) = (service, system, observer)
        names = [service, "\(service)-2"]
        for name in names {
            let process: ProcessName = try #require(instance(of: name), "the log of \(name) names no instance")
            instances[name] = process
        }
    }

    // MARK: Shards

    /// The newest process of a replica. Each writes its name to the log when it starts.
    private func instance(of name: String) -> ProcessName? {
        let log = try? String(contentsOfFile: system.compose.folder.file("data/log/\(name).log"), encoding: .utf8)
        let words = (log ?? "").split(whereSeparator: \.isWhitespace)
        let prefix = "instance="
        return words.last { $0.hasPrefix(prefix) }.flatMap { ProcessName(String($0.dropFirst(prefix.count))) }
    }

    private struct Presence: Decodable {
        let status: String
        let shards: String
    }

    /// The shards of a replica; `nil` while it is not online.
    private func shards(of name: String) -> Set<Shard>? {
        // compose/up kills a replica that stays frozen, and starts it again under another name.
        guard let instance = instance(of: name),
            let payload = observer.latest(Topic.presence(service: service, instance).name),
            let presence = try? JSONCoding.decode(Presence.self, from: payload), presence.status == "online"
        else { return nil }
        return presence.shards == "none" ? [] : ShardSelection(presence.shards)?.shards
    }

    private func owner(of shard: Shard) throws -> String {
        try #require(names.first { shards(of: $0)?.contains(shard) == true }, "no \(service) owns \(shard)")
    }

    /// Waits until both replicas are online, and each shard has one owner.
    func expectShared() async throws {
        let isShared = await eventually(within: .seconds(120)) {
            let owned = names.compactMap(shards)
            return owned.count == 2 && owned[0].isDisjoint(with: owned[1])
                && owned[0].union(owned[1]).count == Shard.all.count
        }
        try #require(isShared, "\(service): \(names.map { shards(of: $0)?.count }) shards, \(system.output)")
    }

    // MARK: Faults

    /// The signal of a process that runs. Id 0 would be that of the tests' own group.
    private func send(_ signal: Int32, to name: String) throws -> Int32 {
        let id = try #require(system.ids[name])
        try #require(id > 0)
        kill(id, signal)
        return id
    }

    /// `kill -9` for the owner of a shard. `compose/up` starts it again.
    mutating func killOwner(of shard: Shard) throws {
        let name = try owner(of: shard)
        _ = try send(SIGKILL, to: name)
        killed = name
    }

    /// Waits until the killed replica runs again, and each shard has an owner.
    mutating func expectRestart() async throws {
        let name = try #require(killed)
        let hasRestarted = await eventually(within: .seconds(120)) { instance(of: name) != instances[name] }
        try #require(hasRestarted, "\(system.output)")
        instances[name] = instance(of: name)
        try await expectShared()
    }

    /// Freezes the owner of a shard.
    mutating func freezeOwner(of shard: Shard) throws {
        let name = try owner(of: shard)
        frozen = (name, try send(SIGSTOP, to: name))
    }

    /// Waits until the lease of the frozen replica is over, and the other one owns everything.
    func expectTakeover() async throws {
        let other = try #require(names.first { $0 != frozen?.name })
        let hasTakenOver = await eventually(within: .seconds(120)) { shards(of: other)?.count == Shard.all.count }
        try #require(hasTakenOver, "\(system.output)")
    }

    func thaw() {
        if let frozen { kill(frozen.id, SIGCONT) }
    }
}
