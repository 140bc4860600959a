import Foundation
import TestSupport
import Testing

/// libFuzzer, built with these sources. Tests/Fuzz reads the committed inputs every day.
@Suite(.timeLimit(.minutes(240)))
struct FuzzTests {
    @Test(.enabled(if: Tier.isNightly, "takes long, without NIGHTLY=1"))
    func `no reader has a finding within a minute`() async throws {
        let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().path
        let log = try TemporaryFolder()
        let process = try ChildProcess(
            ["\(repository)/compose/chaos", "fuzz", "--seconds", "60"], log: log.file("fuzz.log"))
        let status = await process.finish()
        let output = try String(contentsOfFile: log.file("fuzz.log"), encoding: .utf8)
        // The findings are in .build/chaos-fuzz.
        #expect(status == 0, "\(output.suffix(20_000))")
        print(output.split(separator: "\n").last ?? "")
    }
}
