import ArgumentParser
import Client
import FIT
import Formats
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Device

/// The playback that a command line builds.
@Suite struct DeviceBuildTests {
    private let key = SessionKey(User("ann")!, SessionID(UUID()))

    @Test func `without a name, the device is that of the session's queue, else a new watch`() throws {
        let folder = try TemporaryFolder()
        let script = PlaybackScript.simulation(seed: 1, duration: 5)
        let options = try PlaybackOptions.parse([
            "--user", "\(key.user)", "--session", "\(key.session)", "--queue-folder", folder.file("queues"),
        ])
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "device"), logger: .silent, bus: FakeBus([]))
        let drawn = options.build(context, [script]).device
        #expect(drawn.kind == "watch")
        #expect(drawn.description.count == "watch-3f9a".count)
        let device = Device("watch-3f9a")!
        let queue = try script.openQueue(
            in: QueueFolder(path: folder.file("queues")), key, device, now: context.clock.now, joins: false)
        #expect(options.build(context, [script]).device == device)
        withExtendedLifetime(queue) {}
    }

    @Test func `the user is the one of the option, else of the broker's URL, else demo`() throws {
        func user(_ arguments: [String], url: String?) throws -> User {
            var context = ServiceContext(
                configuration: ServiceConfiguration(name: "device"), logger: .silent, bus: FakeBus([]))
            context.configuration.mqtt.username = url
            return try PlaybackOptions.parse(arguments).build(context, [.simulation(seed: 1, duration: 5)]).key.user
        }
        #expect(try user(["--user", "ann"], url: "bert") == User("ann"))
        #expect(try user([], url: "bert") == User("bert"))
        #expect(try user([], url: "_simulator") == User("demo"))
        #expect(try user([], url: nil) == User("demo"))
    }

    @Test func `--join requires --session`() {
        #expect(throws: (any Error).self) { try PlaybackOptions.parse(["--join"]) }
        #expect(throws: Never.self) { try PlaybackOptions.parse(["--join", "--session", "\(key.session)"]) }
    }

    @Test func `all activities of a file are replayed, or the one of the option`() throws {
        let folder = try TemporaryFolder()
        let point = "<trkpt lat=\"1\" lon=\"1\"><time>2020-01-01T00:00:00Z</time></trkpt>"
        let track = "<trk><trkseg>\(point)</trkseg></trk>"
        let path = try folder.write("<gpx>\(track)\(track)\(track)</gpx>", to: "three.gpx")
        func numbers(_ arguments: String...) throws -> [Int] {
            try Replay.parse([path] + arguments).scripts().map { script in
                guard case .recording(let file) = script else { return 0 }
                return file.number
            }
        }
        #expect(try numbers() == [1, 2, 3])
        #expect(try numbers("--activity", "2") == [2])
        #expect(try numbers("--join", "--session", "\(key.session)", "--activity", "3") == [3])
        let tooMany = #expect(throws: ValidationError.self) { try numbers("--activity", "4") }
        #expect(tooMany?.message == "no activity 4 in \(path); allowed: 1 to 3")
        let joined = #expect(throws: ValidationError.self) { try numbers("--join", "--session", "\(key.session)") }
        #expect(joined?.message.contains("--join requires --activity, 1 to 3") == true)
        #expect(try numbers("--activity", "2", "--activity", "running") == [2])
        #expect(throws: (any Error).self) { try numbers("--activity", "2", "--activity", "3") }
    }

    @Test func `a track without a type is the activity of the option or of the answer`() throws {
        let folder = try TemporaryFolder()
        func write(_ type: String, _ name: String) throws -> String {
            let point = "<trkpt lat=\"1\" lon=\"1\"><time>2020-01-01T00:00:00Z</time></trkpt>"
            return try folder.write("<gpx><trk>\(type)<trkseg>\(point)</trkseg></trk></gpx>", to: name)
        }
        let unnamed = try write("", "unnamed.gpx")
        func activity(_ arguments: [String], answers: [String]? = nil) throws -> [String] {
            var (asked, rest) = ("", (answers ?? [])[...])
            let question = ActivityQuestion {
                asked += $0
            } readLine: {
                rest.popFirst()
            }
            let script = try Replay.parse(arguments).scripts(asking: answers.map { _ in question })[0]
            guard case .recording(let file) = script else { return [] }
            return [file.recording.activity.rawValue, asked]
        }
        #expect(try activity([unnamed]) == ["other", ""])
        #expect(try activity([unnamed, "--activity", "cycling"], answers: ["hiking"]) == ["cycling", ""])
        let answered = try activity([unnamed], answers: ["jogging", "running"])
        #expect(answered[0] == "running" && answered[1].contains("unknown activity 'jogging'"))
        #expect(try activity([unnamed], answers: [""])[0] == "other")
        #expect(try activity([unnamed], answers: [])[0] == "other")
        let walk = try write("<type>walking</type>", "walk.gpx")
        #expect(try activity([walk], answers: ["running"]) == ["walking", ""])
        let error = #expect(throws: ValidationError.self) { try activity([walk, "--activity", "running"]) }
        #expect(error?.message == "--activity running does not apply: \(walk) names its activity, walking")
    }
}
