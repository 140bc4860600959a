import Foundation
import TestSupport
import Testing
import Workouts

@testable import Device
@testable import Exporter

@Suite struct TCXTests {
    @Test func `debug`() throws {
        guard let folder = ProcessInfo.processInfo.environment["RECORDINGS_DIR"] else { return }
        for name in ["ride-39km-with-pauses.fit", "run-5km.fit", "run-8km.gpx", "walk-700m.fit"] {
            let recording = try RecordingFile(path: "\(folder)/\(name)").recording
            let played = try PlayedWorkout(recording)
            let kept = Set(played.exported.points.filter { $0.place != nil }.map(\.time))
            for l in recording.locations where !kept.contains(l.time!) {
                let inside = recording.segments.contains { $0.contains(l.time!) }
                print("DROP", name, l.time!.seconds - recording.start.seconds, l.latitude!, l.longitude!, l[.horizontalAccuracy] as Any, inside, recording.samples.first { $0.time == l.time }?[.heartRate] as Any)
            }
            let clock = ContinuousClock()
            for format in ExportFormat.allCases {
                var bytes: [UInt8] = []
                let took = clock.measure { bytes = format.bytes(of: played.exported) }
                print(name, format, bytes.count, took, played.exported.points.count)
                try Data(bytes).write(to: URL(filePath: "/tmp/xml-out/\(name).\(format)"))
            }
            print(recording.samples.count, recording.locations.count, played.exported.points.count(where: { $0.place != nil }), played.workout.segments.count)
        }
    }
}
