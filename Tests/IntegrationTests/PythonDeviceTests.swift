import Bus
import Foundation
import TestSupport
import Testing
import Workouts

/// The example device of `Bus` in Python, against a real broker and real services.
@Suite struct PythonDeviceTests {
    @Test(.disabled(if: Python.lacks("paho.mqtt"), "PYTHON has no paho-mqtt"), .timeLimit(.minutes(60)))
    func `the example device completes its workout despite a kill`() async throws {
        let folder = try TemporaryFolder()
        let script = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Shared/Bus/examples/device.py").standardized.path
        let key = SessionKey(try #require(User("ann")), SessionID(UUID()))
        let device = try #require(Device("watch-3f9a"))
        let items = 8

        let installation = try await Installation()
        let results = try await BusObserver.run(port: installation.broker.port) { observer in
            func start() throws -> ChildProcess {
                try ChildProcess(
                    [
                        "env", "-C", folder.path, Python.interpreter, script, "127.0.0.1",
                        "\(installation.broker.port)",
                        "\(key.user)", "\(key.session)", "\(device)", "\(items)",
                    ], log: folder.file("device.log"))
            }
            let first = try start()
            _ = try await observer.wait(for: Topic.session(key, .samplesAck(device)).name) { payload in
                guard case .next(let number) = try? Ack(payload[...]) else { return false }
                return number >= 2
            }
            first.end(SIGKILL)
            let second = try start()
            #expect(await second.finish() == 0, "\(log(folder))")
            return try await Results(key, device: "\(device)", items: items, from: observer)
        }
        #expect(results.workout.next == [StreamName(.samples, device): items])
        #expect(results.workout.averageHeartRate == 120)
        #expect(abs(try #require(results.workout.distance) - 2.8 * Double(items)) < 0.001)
        #expect(log(folder).contains("22.4 m, average heart rate 120"))
    }

    private func log(_ folder: TemporaryFolder) -> String {
        (try? String(contentsOfFile: folder.file("device.log"), encoding: .utf8)) ?? ""
    }
}

/// The README of `Bus`.
enum BusReadme {
    /// The code of its block in a language.
    static func code(_ language: String) throws -> String {
        let readme = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Shared/Bus/README.md").standardized
        let parts = try String(contentsOf: readme, encoding: .utf8).components(separatedBy: "```")
        let block = try #require(parts.first { $0.hasPrefix("\(language)\n") })
        return String(block.dropFirst(language.count + 1))
    }
}
