import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

@testable import Importer

/// Files of two users, through crashes, failed commits, lost acknowledgements, and parts that repeat and overtake one
/// another.
struct ImportStormTests {
    private struct Upload {
        let key: ImportKey
        let file: Int
        let parts: [ImportPart]
        var isDone = false
    }

    @Test(.timeLimit(.minutes(10)))
    func `each file becomes one workout of its user, and nothing is logged twice`() async throws {
        var random = SeededRandom()
        for _ in 0..<10 { try await storm(&random) }
    }

    private func storm(_ random: inout SeededRandom) async throws {
        var world = try await ImporterWorld()
        let users = [User("anna")!, User("ben")!]
        let files = (0..<3).map { number in
            FITFixture.workout(
                start: 1_700_000_000 + number * 10_000, duration: Int.random(in: 60...4_000, using: &random))
        }
        // The first file comes twice of each user.
        var uploads = users.flatMap { user in
            (files.indices + [0]).map { index in
                Upload(
                    key: ImportKey(user, ImportID(UUID())), file: index,
                    parts: ImportPart.all(of: Data(files[index]), name: "\(index).fit"))
            }
        }
        var steps = 0
        while uploads.contains(where: { !$0.isDone }) {
            steps += 1
            try #require(steps < 20_000, "SEED=\(random.seed): \(world.statuses.values.map(\.status))")
            for index in uploads.indices where !uploads[index].isDone {
                let upload = uploads[index]
                if let status = world.statuses[upload.key], status.status == .done {
                    uploads[index].isDone = true
                    continue
                }
                let acknowledged = world.acks[upload.key]?.n ?? 0
                guard acknowledged < upload.parts.count, Int.random(in: 0..<3, using: &random) == 0 else { continue }
                let part = Int.random(
                    in: max(0, acknowledged - 1)...min(acknowledged + 2, upload.parts.count - 1), using: &random)
                world.incoming.append(ImporterWorld.message(upload.parts[part], of: upload.key))
            }
            switch Int.random(in: 0..<60, using: &random) {
            case 0: try await world.crash()
            case 1: world.store.failNextCommit(.beforeWriting)
            case 2: world.store.failNextCommit(.afterWriting)
            case 3...6:
                if !world.incoming.isEmpty {
                    world.incoming.remove(at: Int.random(in: world.incoming.indices, using: &random))
                }
            case 7: world.incoming.shuffle(using: &random)
            default: break
            }
            try await world.step(seconds: .random(in: 0.05...3, using: &random))
        }
        var expected: Set<SessionKey> = []
        for upload in uploads {
            let status = try #require(world.statuses[upload.key])
            let session = SessionKey(upload.key.user, try #require(status.sessions.first))
            #expect(status.sessions.count == 1)
            expected.insert(session)
            let services = try #require(world.services[session])
            let count = try #require(services.session?.streams.values.max())
            #expect(services.samples.count == count && services.session?.endedAt != nil)
        }
        #expect(
            expected.count == 6 && world.written == expected && Set(world.services.keys) == expected,
            "SEED=\(random.seed)")
    }
}
