import ArgumentParser
import Formats
import Foundation
import ServiceKit
import TestSupport
import Testing

@testable import Exporter

struct ExportSettingsTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func resolve(_ arguments: [String], _ environment: [String: String] = [:]) throws -> ExportConfiguration {
        try ExportConfiguration.resolve(try ExportOptions.parse(arguments), environment: environment)
    }

    private func problem(_ arguments: [String], _ environment: [String: String] = [:]) -> String? {
        do {
            _ = try resolve(arguments, environment)
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test func `by default the export folder gets FIT files and nothing is uploaded`() throws {
        #expect(
            try resolve([])
                == ExportConfiguration(
                    folder: "./data/exports", formats: [.fit], upload: nil))
        #expect(try resolve([], ["EXPORT_FOLDER": "", "EXPORT_FORMATS": "", "UPLOAD_URL": ""]) == resolve([]))
    }

    @Test func `a flag, under either name, overrides the variable`() throws {
        let environment = ["EXPORT_FOLDER": "/srv/exports", "EXPORT_FORMATS": "csv,fit,csv"]
        #expect(try resolve([], environment) == ExportConfiguration(folder: "/srv/exports", formats: [.fit, .csv]))
        for (folder, formats) in [("--folder", "--formats"), ("--export-folder", "--export-formats")] {
            #expect(
                try resolve([folder, "none", formats, "json"], environment)
                    == ExportConfiguration(folder: nil, formats: [.json]))
        }
    }

    @Test func `an account has 50 GB a day unless the operator sets another number`() throws {
        #expect(try resolve([]).bytesPerDay == 50_000_000_000)
        #expect(try resolve([], ["EXPORT_BYTES_PER_DAY": "1000000"]).bytesPerDay == 1_000_000)
    }

    @Test(arguments: [
        "https://example.org", "https://example.org:8443/a/b?project=3", "http://localhost:8080/",
        "http://127.0.0.1:9/up", "http://127.8.8.8/", "http://[::1]/uploads",
    ])
    func `uploads use TLS, except on this machine`(url: String) throws {
        let environment = ["UPLOAD_URL": url, "UPLOAD_CREDENTIALS": folder.path]
        #expect(
            try resolve([], environment).upload
                == ExportConfiguration.Upload(url: url, format: .fit, credentials: folder.path))
        #expect(try resolve(["--upload-format", "tcx"], environment).upload?.format == .tcx)
    }

    @Test(arguments: [
        "http://example.org/", "http://127.0.0.1.example.org/", "http://127.example.org/", "http://2130706433/",
        "http://0x7f.1/", "http://10.0.0.1/", "http://[::2]/", "http://localhost.example.org/", "ftp://localhost/",
        "localhost", "https://", "https:///up", "https://anna:secret@example.org/", "https://example.org/#secret",
        "http://localhost\\@example.org/", "http://localhost:99999/", "https://example.org/a b",
    ])
    func `other addresses are refused without quoting them`(url: String) {
        let problem = problem(["--upload-url", url, "--upload-credentials", folder.path])
        #expect(problem?.hasPrefix("--upload-url (UPLOAD_URL): ") == true, "\(problem ?? "accepted")")
        #expect(problem?.contains("secret") == false)
    }

    @Test(arguments: [
        (
            ["--formats", ""],
            "--export-formats (EXPORT_FORMATS): unknown export format ''; available: csv, fit, gpx, json, tcx"
        ),
        (["--formats", "fit,pwx"], "--export-formats (EXPORT_FORMATS): unknown export format 'pwx'; available: csv"),
        (["--formats", "fit,"], "--export-formats (EXPORT_FORMATS): unknown export format ''; available"),
        (["--export-bytes-per-day", "999999"], "--export-bytes-per-day (EXPORT_BYTES_PER_DAY): '999999' is not"),
        (["--export-bytes-per-day", "50GB"], "--export-bytes-per-day (EXPORT_BYTES_PER_DAY): '50GB' is not accepted"),
        (["--folder", ""], "--export-folder (EXPORT_FOLDER): '' is not accepted"),
        (["--upload-format", "FIT"], "--upload-format (UPLOAD_FORMAT): unknown export format 'FIT'; available"),
        (
            ["--upload-url", "https://example.org"],
            "--upload-credentials (UPLOAD_CREDENTIALS): is missing; --upload-url requires it"
        ),
        (
            ["--upload-url", "https://example.org", "--upload-credentials", "/nowhere"],
            "--upload-credentials (UPLOAD_CREDENTIALS): cannot read '/nowhere': no such folder"
        ),
    ])
    func `an invalid setting is refused at start in one line that names it`(arguments: [String], line: String) {
        let problem = problem(arguments)
        #expect(problem?.hasPrefix(line) == true, "\(problem ?? "accepted")")
        #expect(problem?.contains("\n") == false)
    }

    @Test func `help lists each setting with its variable and default`() {
        let help = ExportOptions.helpMessage(columns: 2_000)
        for setting in [
            Setting.exportFolder, .exportFormats, .exportBytesPerDay, .uploadURL, .uploadFormat, .uploadCredentials,
        ] {
            #expect(help.contains("--\(setting.flag) "), "\(setting.flag)")
            #expect(help.contains("(env: \(setting.variable), default: \(setting.standard))"), "\(setting.flag)")
        }
        #expect(help.contains("--folder") && help.contains("--formats"))
    }
}
