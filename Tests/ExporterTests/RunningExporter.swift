import Bus
import Formats
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Workouts

@testable import Exporter

/// The whole exporter, with an export folder in the test's folder.
typealias RunningExporter = RunningService

extension RunningExporter {
    /// Runs the service on a folder while `body` runs, and waits for its end.
    static func run(
        in folder: TemporaryFolder, upload: ExportConfiguration.Upload? = nil, exports: String? = nil,
        broker: InMemoryBroker = InMemoryBroker(), clock: ManualClock = ManualClock(),
        log: LogRecorder = LogRecorder(), shards: ShardSelection = .all, uploadTimeout: Duration = hangLimit,
        ending: Ending = .drain, _ body: (RunningExporter) async throws -> Void
    ) async throws {
        let configuration = ExportConfiguration(
            folder: exports ?? folder.file("exports"), formats: ExportFormat.allCases, upload: upload)
        try await run(
            "exporter", in: folder, storing: ("exporter.sqlite", ExportRecord.schema), clearing: .export(.folder),
            broker: broker, clock: clock, log: log, shards: shards, ending: ending,
            build: {
                try Exporter.build($0, configuration, store: $1, uploadTimeout: uploadTimeout)
            }, body)
    }

    // MARK: Events

    /// Answers requests for chunks like the owners of series and track.
    ///
    /// - Parameter seen: published messages at the last call.
    /// - Returns: published messages now.
    func answer(_ workouts: [ServiceWorkout], after seen: Int) async throws -> Int {
        let published = broker.published
        for message in published[seen...] where message.payload.contains(#""type":"chunks""#.utf8) {
            let asked = workouts.filter { Topic.session($0.key, .request).name == message.topic }
            try await send(asked.flatMap(\.chunks))
        }
        return published.count
    }

    /// Advances the clock after the service has handled all messages.
    func pass(_ seconds: Double) async throws {
        try await jump(seconds)
    }

    // MARK: Results

    /// Waits for a status that satisfies the condition. The service's clock does not advance.
    @discardableResult
    func status(
        of key: SessionKey, _ target: Target, where condition: (ExportStatus) -> Bool = { $0.status == .done }
    ) async throws -> ExportStatus {
        try await expectSome { try retainedStatus(of: key, target).flatMap { condition($0) ? $0 : nil } }
    }

    /// The retained status.
    func retainedStatus(of key: SessionKey, _ target: Target) throws -> ExportStatus? {
        try broker.retained(Topic.session(key, .export(target)).name)
            .map { try JSONCoding.decode(ExportStatus.self, from: $0.payload) }
    }

    /// Every published status of an export, in order.
    func statuses(of key: SessionKey, _ target: Target) throws -> [ExportStatus] {
        try broker.published.filter { $0.topic == Topic.session(key, .export(target)).name && !$0.payload.isEmpty }
            .map { try JSONCoding.decode(ExportStatus.self, from: $0.payload) }
    }

    /// The paths of the files in the export folder.
    var files: [String] {
        get throws { try Self.files(in: folder.file("exports")) }
    }

    static func files(in path: String) throws -> [String] {
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        return try FileManager.default.subpathsOfDirectory(atPath: path).filter { $0.contains("/") }.sorted()
    }

    func file(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: folder.file("exports/\(name)"))))
    }
}
