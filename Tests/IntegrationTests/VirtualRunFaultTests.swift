import Bus
import Foundation
import TestSupport
import Testing
import Workouts

/// Many virtual runs while everything is killed, cut and frozen: the results have the same bytes as without faults.
/// Results do not pass through weather-fetcher, live-activity-publisher and dashboard, so these do not run here.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct VirtualRunFaultTests {
    private static let (runners, runSize) = (100, 5)
    private static let duration = 120

    private enum Fault {
        case kill, freeze, cut
        /// A kill is as likely as the other two.
        static let drawn: [Fault] = [.kill, .kill, .freeze, .cut]
    }

    /// The results of each run by its host, and how often each finish was announced.
    private struct Outcome {
        var results: [User: String]
        var finishCues: [String: Int]
    }

    private func users() throws -> [User] {
        try (1...Self.runners).map { try #require(User(String(format: "runner-%04d", $0))) }
    }

    /// Plays all runs, with faults while they last.
    private func play(
        speedUp: Int, faults: ((Installation, FaultyLink, ChildProcess) async throws -> Void)? = nil, seed: UInt64
    ) async throws -> Outcome {
        let installation = try await Installation(services: Installation.runServices)
        let link =
            try faults.map { _ in try FaultyLink(to: installation.broker.port, random: SeededRandom(seed: seed)) }
        defer { link?.close() }
        return try await BusObserver.run(port: installation.broker.port) { observer in
            let log = installation.folder.file("fleet.log")
            let fleet = try Installation.run(
                "device",
                [
                    "simulate", "--devices", "\(Self.runners)", "--run-size", "\(Self.runSize)", "--duration",
                    "\(Self.duration)", "--seed", "11", "--device", "watch-1", "--speed-up", "\(speedUp)", "--mqtt-url",
                    "mqtt://127.0.0.1:\(link?.port ?? installation.broker.port)",
                ], log: log)
            defer { fleet.end(SIGKILL) }
            let hosts = try users().enumerated().filter { $0.offset % Self.runSize == 0 }.map(\.element)
            // The faults begin with the runs: an unconfirmed runner would be another result.
            let begun = await eventually {
                hosts.allSatisfy { observer.views(of: $0).contains { $0.status == .running } }
            }
            #expect(begun, "\((try? String(contentsOfFile: log, encoding: .utf8)) ?? "")")
            if let faults, let link { try await faults(installation, link, fleet) }
            #expect(await fleet.finish() == 0, "\((try? String(contentsOfFile: log, encoding: .utf8)) ?? "")")
            var results: [User: String] = [:]
            let isFinal = await eventually {
                for host in hosts where results[host] == nil {
                    let rows = observer.views(of: host).compactMap(\.results).first { $0.provisional != true }?.rows
                    results[host] = rows.map { String(decoding: JSONCoding.encode($0), as: UTF8.self) }
                }
                return results.count == hosts.count
            }
            #expect(isFinal, "\(results.count) of \(hosts.count) runs have results")
            return Outcome(results: results, finishCues: observer.finishCues)
        }
    }

    @Test(.enabled(if: Tier.isNightly, "takes long, without NIGHTLY=1"))
    func `killed services and brokers, cut links and frozen processes change no results and repeat no finish`()
        async throws
    {
        var random = SeededRandom()
        let expected = try await play(speedUp: 10, seed: 0)
        #expect(expected.results.values.allSatisfy { $0.contains("\"place\":1,") })
        let seed = random.next()
        let actual = try await play(
            speedUp: 5,
            faults: { installation, link, fleet in
                let victims: [Installation.Service?] = Installation.runServices.map(Optional.some) + [nil]
                // The first pass kills each once.
                let certain = victims.shuffled(using: &random).map { ($0, Fault.kill) }
                let drawn = victims.shuffled(using: &random).map { ($0, Fault.drawn.randomElement(using: &random)!) }
                for (victim, fault) in certain + drawn {
                    let moment = link.packets + Int.random(in: 50...500, using: &random)
                    // Without traffic the next fault follows after a timeout.
                    _ = await eventually(within: .seconds(3)) { link.packets >= moment }
                    switch (victim, fault) {
                    case (let service?, .freeze):
                        await installation.freeze(
                            service, while: link, for: Int.random(in: 50...500, using: &random))
                    case (_, .cut): link.cut()
                    case (let service?, .kill): try installation.kill(service)
                    case (nil, .kill), (nil, .freeze):
                        installation.broker.kill()
                        try await installation.broker.start()
                    }
                }
            }, seed: seed)
        for (host, rows) in expected.results {
            #expect(actual.results[host] == rows, "run of \(host), seed \(random.seed)")
        }
        for cues in [expected.finishCues, actual.finishCues] {
            #expect(cues.values.allSatisfy { $0 == 1 }, "seed \(random.seed): \(cues.filter { $0.value > 1 })")
        }
        #expect(!expected.finishCues.isEmpty)
    }
}
