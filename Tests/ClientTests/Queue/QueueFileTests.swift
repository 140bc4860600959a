import Bus
import Foundation
import TestSupport
import Testing
import Workouts

@testable import Client

@Suite struct QueueFileTests {
    private let folder: TemporaryFolder
    private let queues: QueueFolder
    private let key = SessionKey(User("ann_1")!, SessionID(UUID()))
    private let device = Device("watch-3f9a")!
    private let now = Timestamp(seconds: 1_700_000_000.25)
    private let source = QueueHeader.Source.recording(fingerprint: "af63")

    init() throws {
        folder = try TemporaryFolder()
        queues = QueueFolder(path: folder.file("data/device"))
    }

    private func open(_ source: QueueHeader.Source? = nil) throws -> QueueFile {
        let source = source ?? self.source
        return try queues.open(key, device, now: now, source: source, joins: false) { $0 == source }
    }

    private var path: String { folder.file("data/device/\(key.user).\(key.session).\(device).jsonl") }

    private var command: Command {
        Command(
            id: CommandID("0b7e1a5c-2222-4333-8444-123456789abc")!, client: Client("device-1")!, at: now,
            action: .end(streams: [StreamName(.samples, device): 3]))
    }

    @Test func `appended entries survive a restart`() throws {
        let items = samples(3)
        let locations = [Location(time: now, latitude: 47.25, longitude: -9), Location(time: now + 1)]
        let entries: [QueueEntry] = [
            .samples(SampleBatch(first: 0, items: Array(items[..<2]))),
            .samples(SampleBatch(first: 2, items: [items[2]])),
            .command(command), .locations(LocationBatch(first: 0, items: locations)),
        ]
        do {
            let file = try open()
            #expect(file.contents == QueueContents())
            try file.append(entries)
            try file.note([
                .acknowledged(.samples, 3), .acknowledged(.locations, 1), .acknowledged(.samples, 2),
                .replied(command.id),
            ])
            #expect(try file.readContents().samples.acknowledged == 2)
            #expect(file.contents == QueueContents())
        }
        let file = try open(source)
        #expect(file.header.beganAt == now)
        #expect(file.contents.samples.items == items)
        #expect(file.contents.samples.acknowledged == 2)
        #expect(file.contents.locations.items == locations)
        #expect(file.contents.locations.acknowledged == 1)
        #expect(file.contents.commands == [command])
        #expect(file.contents.replied == [command.id])
    }

    @Test func `a truncated last line leaves all lines before it`() throws {
        do {
            let file = try open()
            try file.append([.samples(SampleBatch(first: 0, items: samples(2)))])
            try file.append([.command(command)])
        }
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        let lastLine = QueueEntry.command(command).line.count + 1
        for cut in 1...lastLine {
            try whole.dropLast(cut).write(to: URL(fileURLWithPath: path))
            do {
                let file = try open()
                #expect(file.contents.samples.items == samples(2))
                #expect(file.contents.commands.isEmpty)
                #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == whole.dropLast(lastLine))
                // Shorter than the truncated line.
                try file.append([.acknowledged(.samples, 1)])
            }
            let file = try open()
            #expect(file.contents.samples.acknowledged == 1)
            #expect(file.contents.commands.isEmpty)
        }
    }

    @Test func `a file with an incomplete first line begins again`() throws {
        do { _ = try open() }
        let header = try Data(contentsOf: URL(fileURLWithPath: path))
        try header.dropLast(1).write(to: URL(fileURLWithPath: path))
        let other = QueueHeader.Source.simulation(seed: .max)
        #expect(try open(other).header.source == other)
    }

    @Test func `a second process is refused`() throws {
        let file = try open()
        #expect(throws: QueueError.inUse(path: path)) { try open() }
        withExtendedLifetime(file) {}
    }

    @Test func `another recording is refused`() throws {
        do { _ = try open() }
        #expect(throws: QueueError.foreign(path: path)) { try open(.recording(fingerprint: "0")) }
    }

    @Test func `a damaged line is an error and the file is unchanged`() throws {
        do {
            let file = try open()
            try file.append([.samples(SampleBatch(first: 0, items: samples(1))), .acknowledged(.samples, 1)])
        }
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[bytes.count - 3] = UInt8(ascii: "x")
        try bytes.write(to: URL(fileURLWithPath: path))
        let error = #expect(throws: QueueError.self) { try open() }
        guard case .damaged(_, line: 3, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
    }

    @Test(arguments: [
        #"{"acknowledged":{"samples":-1}}"#, #"{"acknowledged":{"locations":1}}"#, #"{"clock":1e308}"#,
        #"{"clock":-1e13}"#,
    ])
    func `a line that no device writes is an error`(line: String) throws {
        do {
            let file = try open()
            try file.append([.samples(SampleBatch(first: 0, items: samples(1)))])
        }
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        try (bytes + Data("\(line)\n".utf8)).write(to: URL(fileURLWithPath: path))
        let error = #expect(throws: QueueError.self) { try open() }
        guard case .damaged(_, line: 3, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `a removed queue leaves no file`() throws {
        let file = try open()
        #expect(queues.devices(of: key) == [device])
        try file.remove()
        #expect(queues.devices(of: key).isEmpty)
        #expect(try open().contents == QueueContents())
    }

    @Test func `the devices of a session are those with a queue`() throws {
        _ = try open()
        _ = try queues.open(key, Device("pod-1")!, now: now, source: source, joins: false) { _ in true }
        let other = SessionKey(key.user, SessionID(UUID()))
        #expect(queues.devices(of: key) == [Device("pod-1")!, device])
        #expect(queues.devices(of: other).isEmpty)
    }
}
